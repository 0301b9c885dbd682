import { objectsMember, textMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import { checkPathSegment } from '../api/metadata/name-rules.ts'
import { listOf, struct, text } from '../api/schema/build.ts'
import { nameColumn } from '../registry/kinds/columns.ts'
import type { ComponentHealth } from '../registry/kinds/component-health.ts'
import type { AnyObject, Column, DefinitionFor, ResourceDefinition } from '../registry/kinds/definition.ts'
import { textColumn } from './common/text-column.ts'

const conditionSchema = struct('core.v1.ComponentCondition', 'One aspect of the health of a component.', {
  type: text(1, 'Type of the condition: Healthy.', { required: true, always: true }),
  status: text(2, 'Status of the condition: True, False or Unknown.', { required: true, always: true }),
  message: text(3, 'Human-readable message.'),
  error: text(4, 'Why the status is unknown.'),
})

const componentStatusSchema = struct(
  'core.v1.ComponentStatus',
  'Health of a component of the cluster, as the responding server knows it. Deprecated since release 1.19.',
  {
    conditions: listOf(2, conditionSchema, 'Conditions of the component.', {
      ...{ patchMergeKey: 'type', patchStrategy: 'merge' },
    }),
  },
)

/** The health of the members, of the controllers and of the store. Observed on each read. */
export const componentStatusDefinition: DefinitionFor = () =>
  Object.freeze({
    group: '',
    version: 'v1',
    kind: 'ComponentStatus',
    plural: 'componentstatuses',
    singular: 'componentstatus',
    shortNames: ['cs'],
    categories: [],
    scope: 'Cluster',
    verbs: ['get', 'list'],
    schema: componentStatusSchema,
    columns,
    validateName: checkPathSegment,
    deleteReturnsObject: false,
    deprecated: { since: '1.19', removed: '', replacement: null },
    hooks: {},
    observe: (components) => components.map(componentStatus),
    subresources: [],
  } satisfies ResourceDefinition)

/** @source core `pkg/registry/core/componentstatus/rest.go` */
function componentStatus({ name, status, message, error }: ComponentHealth): AnyObject {
  const condition = {
    ...{ type: 'Healthy', status },
    ...(message === '' ? {} : { message }),
    ...(error === '' ? {} : { error }),
  }
  const metadata = { name, creationTimestamp: null }
  return { kind: 'ComponentStatus', apiVersion: 'v1', metadata, conditions: [condition] }
}

/** @source upstream `pkg/printers/internalversion`, printComponentStatus */
const columns: readonly Column[] = [
  nameColumn,
  textColumn('Status', 'Whether the component is healthy; Unhealthy if that is unknown.', (object) => {
    const healthy = healthyOf(object)
    if (healthy === undefined) return 'Unknown'
    return textMember(healthy, 'status') === 'True' ? 'Healthy' : 'Unhealthy'
  }),
  textColumn('Message', 'What the component reports.', (object) =>
    textMember(healthyOf(object) ?? {}, 'message'),
  ),
  textColumn('Error', 'Why its health is unknown.', (object) => textMember(healthyOf(object) ?? {}, 'error')),
]

function healthyOf(object: AnyObject): JsonObject | undefined {
  return objectsMember(object, 'conditions').find((condition) => textMember(condition, 'type') === 'Healthy')
}
