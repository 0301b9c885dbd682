import type { Findings } from '../api/errors/findings.ts'
import { required } from '../api/errors/field-error.ts'
import { memberOf, numberMember, textMember } from '../api/json.ts'
import { checkDns1123Subdomain } from '../api/metadata/name-rules.ts'
import { any as anyJson, int64, struct } from '../api/schema/build.ts'
import { ageColumn, nameColumn } from '../registry/kinds/columns.ts'
import type { AnyObject, ResourceDefinition } from '../registry/kinds/definition.ts'
import { checkImmutable } from './common/immutable.ts'
import { textColumn } from './common/text-column.ts'

/** A past state of a workload, which its controller keeps for a rollback. */
export function controllerRevisionDefinition(): ResourceDefinition {
  return Object.freeze({
    group: 'apps',
    version: 'v1',
    kind: 'ControllerRevision',
    plural: 'controllerrevisions',
    singular: 'controllerrevision',
    shortNames: [],
    categories: [],
    scope: 'Namespaced',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: revisionSchema,
    validateName: checkDns1123Subdomain,
    deleteReturnsObject: false,
    columns: [
      nameColumn,
      textColumn('Controller', 'The controlling owner.', controllerOf),
      textColumn('Revision', 'Number of the revision.', (object) =>
        String(numberMember(object, 'revision') ?? 0),
      ),
      ageColumn,
    ],
    hooks: { validate: checkData, validateUpdate: checkUpdate },
    subresources: [],
  } satisfies ResourceDefinition)
}

const revisionSchema = struct('apps.v1.ControllerRevision', 'A past state of a workload.', {
  data: anyJson(2, 'The state, as its controller serialized it. Immutable.', { always: true }),
  revision: int64(3, 'Number of the revision; higher ones are later.', {
    ...{ required: true, always: true },
    minimum: 0,
  }),
})

/** Returns `kind.group/name` of the controlling owner. */
function controllerOf(object: AnyObject): string {
  const owner = (object.metadata.ownerReferences ?? []).find((one) => memberOf(one, 'controller') === true)
  if (owner === undefined) return '<none>'
  const [group = '', version] = textMember(owner, 'apiVersion').split('/')
  const kind = textMember(owner, 'kind').toLowerCase()
  return `${kind}${version === undefined ? '' : `.${group}`}/${textMember(owner, 'name')}`
}

function checkData(object: AnyObject, found: Findings): void {
  const data = memberOf(object, 'data')
  if (data === undefined || data === null) found.add(required('data', 'data is mandatory'))
}

function checkUpdate(object: AnyObject, current: AnyObject, found: Findings): void {
  checkImmutable(revisionSchema, null, { value: object, before: current }, ['data'], found)
}
