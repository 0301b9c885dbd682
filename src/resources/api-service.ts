import type { Findings } from '../api/errors/findings.ts'
import { invalid } from '../api/errors/field-error.ts'
import type { JsonObject } from '../api/json.ts'
import { equalJson, memberOf, objectMember, objectsMember, textMember } from '../api/json.ts'
import { checkPathSegment } from '../api/metadata/name-rules.ts'
import type { Names } from '../api/metadata/names.ts'
import { ageColumn, nameColumn } from '../registry/kinds/columns.ts'
import type { AnyObject, Column, ResourceDefinition, WriteContext } from '../registry/kinds/definition.ts'
import { apiServiceSchema } from './aggregation/api-service-schema.ts'
import { keeping, statusWithoutMetadata } from './common/status-subresource.ts'
import { textColumn } from './common/text-column.ts'
import { specOf } from './workloads/pod-owner.ts'

/** A group and version of the API, and the server that serves it. */
export function apiServiceDefinition(names: Names): ResourceDefinition {
  return Object.freeze({
    group: names.group('apiregistration'),
    version: 'v1',
    kind: 'APIService',
    plural: 'apiservices',
    singular: 'apiservice',
    shortNames: [],
    categories: ['api-extensions'],
    scope: 'Cluster',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: apiServiceSchema,
    validateName: checkPathSegment,
    deleteReturnsObject: false,
    updateNeedsVersion: true,
    columns,
    hooks: {
      prepareForCreate: (object, { time }) => ({ ...object, status: statusOf(object, time) }),
      prepareForUpdate,
      validate: checkName,
      warnings,
    },
    subresources: [statusWithoutMetadata()],
  } satisfies ResourceDefinition)
}

function isLocal(object: AnyObject): boolean {
  return memberOf(specOf(object), 'service') === undefined
}

function groupVersionOf(object: AnyObject): string {
  const [group, version] = [textMember(specOf(object), 'group'), textMember(specOf(object), 'version')]
  return group === '' ? version : `${group}/${version}`
}

/** Returns the status that holds from the creation on: nothing else observes an APIService. */
function statusOf(object: AnyObject, time: string): JsonObject {
  const observed: JsonObject = isLocal(object)
    ? { status: 'True', reason: 'Local', message: 'Local APIServices are always available' }
    : {
        status: 'False',
        reason: 'NotProxied',
        message: 'this release does not proxy requests to other servers',
      }
  return { conditions: [{ type: 'Available', ...observed, lastTransitionTime: time }] }
}

function prepareForUpdate(object: AnyObject, current: AnyObject, { time }: WriteContext): AnyObject {
  return isLocal(object) === isLocal(current)
    ? keeping(object, current, 'status')
    : { ...object, status: statusOf(object, time) }
}

/** @source kube-aggregator `pkg/apis/apiregistration/validation`, ValidateAPIService */
function checkName(object: AnyObject, found: Findings): void {
  const { name = '' } = object.metadata
  const wanted = `${textMember(specOf(object), 'version')}.${textMember(specOf(object), 'group')}`
  if (name === wanted) return
  const words = `must be \`spec.version+"."+spec.group\`: ${JSON.stringify(wanted)}`
  found.add(invalid('metadata.name', name, words))
}

function warnings(object: AnyObject, current: AnyObject | null): readonly string[] {
  if (isLocal(object) || (current !== null && equalJson(object['spec'], current['spec']))) return []
  const what = `requests for ${groupVersionOf(object)} are not proxied to the Service`
  return [`stored but not enforced by this release: ${what}`]
}

/** @source upstream `pkg/printers`, and the printer columns of kube-aggregator */
const columns: readonly Column[] = [
  nameColumn,
  textColumn('Service', 'The Service that serves it, or Local.', (object) => {
    const service = objectMember(specOf(object), 'service')
    return isLocal(object) ? 'Local' : `${textMember(service, 'namespace')}/${textMember(service, 'name')}`
  }),
  textColumn('Available', 'Whether it can be used.', (object) => {
    const conditions = objectsMember(objectMember(object, 'status'), 'conditions')
    const available = conditions.find((condition) => textMember(condition, 'type') === 'Available')
    if (available === undefined) return 'Unknown'
    const status = textMember(available, 'status')
    return status === 'True' ? status : `${status} (${textMember(available, 'reason')})`
  }),
  ageColumn,
]
