import type { Findings } from '../api/errors/findings.ts'
import { invalid } from '../api/errors/field-error.ts'
import { memberOf, objectMember, objectsMember, textMember } from '../api/json.ts'
import { checkDns1123Subdomain } from '../api/metadata/name-rules.ts'
import type { Names } from '../api/metadata/names.ts'
import { ageColumn, nameColumn } from '../registry/kinds/columns.ts'
import type { AnyObject, ResourceDefinition } from '../registry/kinds/definition.ts'
import { statusApart } from './common/status-apart.ts'
import { statusSubresource } from './common/status-subresource.ts'
import { textColumn } from './common/text-column.ts'
import { ingressSchema } from './networking/ingress-schema.ts'
import { loadBalancerText } from './services/load-balancer-rules.ts'

/** Rules for HTTP requests from outside, which a controller implements. */
export function ingressDefinition(names: Names): ResourceDefinition {
  return Object.freeze({
    group: names.group('networking'),
    version: 'v1',
    kind: 'Ingress',
    plural: 'ingresses',
    singular: 'ingress',
    shortNames: ['ing'],
    categories: [],
    scope: 'Namespaced',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: ingressSchema,
    validateName: checkDns1123Subdomain,
    deleteReturnsObject: false,
    tracksGeneration: true,
    columns: [
      nameColumn,
      textColumn('Class', 'Class of the Ingress.', (object) => classOf(object, names)),
      textColumn('Hosts', 'The first hosts of its rules.', hostsText),
      textColumn('Address', 'Addresses of its load balancer.', (object) =>
        loadBalancerText(objectMember(objectMember(object, 'status'), 'loadBalancer')),
      ),
      textColumn('Ports', 'Ports of HTTP and HTTPS.', (object) =>
        objectsMember(objectMember(object, 'spec'), 'tls').length > 0 ? '80, 443' : '80',
      ),
      ageColumn,
    ],
    hooks: {
      ...statusApart(ingressSchema),
      validate: checkRules,
      validateNew: (object, found) => {
        checkClass(object, names, found)
      },
    },
    subresources: [statusSubresource()],
  } satisfies ResourceDefinition)
}

function checkRules(object: AnyObject, found: Findings): void {
  const spec = objectMember(object, 'spec')
  if (objectsMember(spec, 'rules').length > 0 || Object.hasOwn(spec, 'defaultBackend')) return
  const given = Object.hasOwn(spec, 'rules') ? '{}' : '(nil)'
  const words = 'either `defaultBackend` or `rules` must be specified'
  found.add(invalid('spec', [], words, () => `[]networking.IngressRule${given}`))
}

/** The annotation named the class before the member existed. */
function checkClass(object: AnyObject, names: Names, found: Findings): void {
  const key = names.label('ingress.class')
  const annotated = object.metadata.annotations?.[key]
  if (annotated === undefined || memberOf(objectMember(object, 'spec'), 'ingressClassName') === undefined)
    return
  const words = 'can not be set when the class field is also set'
  found.add(invalid(`annotations.${key}`, annotated, words))
}

function classOf(object: AnyObject, names: Names): string {
  const named = memberOf(objectMember(object, 'spec'), 'ingressClassName')
  if (typeof named === 'string') return named
  return object.metadata.annotations?.[names.label('ingress.class')] ?? '<none>'
}

const HOSTS_MAX = 3

function hostsText(object: AnyObject): string {
  const rules = objectsMember(objectMember(object, 'spec'), 'rules')
  const hosts = rules.map((rule) => textMember(rule, 'host')).filter((host) => host !== '')
  if (hosts.length === 0) return '*'
  const more = hosts.length > HOSTS_MAX ? ` + ${hosts.length - HOSTS_MAX} more...` : ''
  return `${hosts.slice(0, HOSTS_MAX).join(',')}${more}`
}
