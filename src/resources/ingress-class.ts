import type { Findings } from '../api/errors/findings.ts'
import { fieldForbidden, invalid, required, tooLong } from '../api/errors/field-error.ts'
import type { JsonObject } from '../api/json.ts'
import { isJsonObject, memberOf, objectMember, textMember } from '../api/json.ts'
import { checkDns1123Label, checkDns1123Subdomain, checkPathSegment } from '../api/metadata/name-rules.ts'
import type { Names } from '../api/metadata/names.ts'
import { maybe, part, struct, text } from '../api/schema/build.ts'
import type { Path } from '../api/schema/path.ts'
import { fieldAt, member } from '../api/schema/path.ts'
import { ageColumn, nameColumn } from '../registry/kinds/columns.ts'
import type { AnyObject, ResourceDefinition } from '../registry/kinds/definition.ts'
import { checkImmutable } from './common/immutable.ts'
import { textColumn } from './common/text-column.ts'

/** A class of ingresses: the controller that implements them. */
export function ingressClassDefinition(names: Names): ResourceDefinition {
  return Object.freeze({
    group: names.group('networking'),
    version: 'v1',
    kind: 'IngressClass',
    plural: 'ingressclasses',
    singular: 'ingressclass',
    shortNames: [],
    categories: [],
    scope: 'Cluster',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: ingressClassSchema,
    validateName: checkDns1123Subdomain,
    deleteReturnsObject: false,
    tracksGeneration: true,
    columns: [
      nameColumn,
      textColumn('Controller', 'Controller of ingresses of this class.', (object) =>
        textMember(objectMember(object, 'spec'), 'controller'),
      ),
      textColumn('Parameters', 'Object with parameters of the controller.', parametersOf),
      ageColumn,
    ],
    hooks: { fillDefaults, validate: checkController, validateUpdate: checkUpdate },
    subresources: [],
  } satisfies ResourceDefinition)
}

const CONTROLLER_LENGTH_MAX = 250

const parametersSchema = struct(
  'networking.v1.IngressClassParametersReference',
  'An object with parameters of the controller.',
  {
    apiGroup: text(1, 'API group of the object; the core group when unset.', {
      optional: true,
      rule: checkDns1123Subdomain,
    }),
    kind: text(2, 'Kind of the object.', { required: true, rule: checkPathSegment }),
    name: text(3, 'Name of the object.', { required: true, rule: checkPathSegment }),
    scope: text(4, 'Scope of the object: Cluster (default) or Namespace.', {
      ...{ optional: true, always: true },
      enum: ['Cluster', 'Namespace'],
    }),
    namespace: text(5, 'Namespace of the object; only with the scope Namespace.', { optional: true }),
  },
  { check: checkScope },
)

const specSchema = struct('networking.v1.IngressClassSpec', 'The controller of a class of ingresses.', {
  controller: text(1, 'Name of the controller: a domain and a path, such as example.com/ingress. Immutable.'),
  parameters: maybe(2, parametersSchema, 'An object with parameters of the controller.'),
})

const ingressClassSchema = struct('networking.v1.IngressClass', 'A class of ingresses.', {
  spec: part(2, specSchema, 'The controller of the class.'),
})

function parametersOf(object: AnyObject): string {
  const parameters = memberOf(objectMember(object, 'spec'), 'parameters')
  if (!isJsonObject(parameters)) return '<none>'
  const group = textMember(parameters, 'apiGroup')
  const kind = textMember(parameters, 'kind')
  return `${kind}${group === '' ? '' : `.${group}`}/${textMember(parameters, 'name')}`
}

function fillDefaults(object: AnyObject): AnyObject {
  const spec = objectMember(object, 'spec')
  const parameters = memberOf(spec, 'parameters')
  if (!isJsonObject(parameters) || textMember(parameters, 'scope') !== '') return object
  return { ...object, spec: { ...spec, parameters: { ...parameters, scope: 'Cluster' } } }
}

/** @source upstream `pkg/apis/networking/validation`, validateIngressClassParametersReference */
function checkScope(parameters: JsonObject, at: Path | null, found: Findings): void {
  const field = fieldAt(at, 'namespace')
  const namespace = memberOf(parameters, 'namespace')
  if (textMember(parameters, 'scope') === 'Namespace') {
    if (typeof namespace !== 'string' || namespace === '')
      found.add(required(field, "`parameters.scope` is set to 'Namespace'"))
    else for (const words of checkDns1123Label(namespace)) found.add(invalid(field, namespace, words))
    return
  }
  if (namespace !== undefined) found.add(fieldForbidden(field, "`parameters.scope` is set to 'Cluster'"))
}

/** @source apimachinery `pkg/util/validation`, IsDomainPrefixedPath */
function checkController(object: AnyObject, found: Findings): void {
  const field = 'spec.controller'
  const controller = textMember(objectMember(object, 'spec'), 'controller')
  if (controller === '') {
    found.add(required(field))
    return
  }
  if (controller.length > CONTROLLER_LENGTH_MAX) {
    found.add(tooLong(field, CONTROLLER_LENGTH_MAX))
    return
  }
  const slash = controller.indexOf('/')
  const path = controller.slice(slash + 1)
  if (slash < 1 || path === '') {
    found.add(invalid(field, controller, 'must be a domain-prefixed path (such as "acme.io/foo")'))
    return
  }
  for (const words of checkDns1123Subdomain(controller.slice(0, slash)))
    found.add(invalid(field, controller.slice(0, slash), words))
  if (/^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/.test(path)) return
  found.add(invalid(field, path, 'Invalid path'))
}

function checkUpdate(object: AnyObject, current: AnyObject, found: Findings): void {
  const of = { value: objectMember(object, 'spec'), before: objectMember(current, 'spec') }
  checkImmutable(specSchema, member(null, 'spec'), of, ['controller'], found)
}
