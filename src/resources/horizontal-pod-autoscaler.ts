import { memberOf, objectMember, withoutMembers } from '../api/json.ts'
import { checkDns1123Subdomain } from '../api/metadata/name-rules.ts'
import type { Names } from '../api/metadata/names.ts'
import { applyDefaults } from '../api/schema/default.ts'
import type { AnyObject, ResourceDefinition } from '../registry/kinds/definition.ts'
import { autoscalerColumns } from './autoscalers/autoscaler-columns.ts'
import { fillAutoscaler, withoutContainerMetrics } from './autoscalers/autoscaler-defaults.ts'
import { autoscalerSchema, autoscalerV2beta2Schema } from './autoscalers/autoscaler-schema.ts'
import { withoutAutoscalerAnnotations } from './autoscalers/autoscaler-annotations.ts'
import { statusApart } from './common/status-apart.ts'
import { statusSubresource } from './common/status-subresource.ts'

/** Scales an object by metrics, such as those of its Pods. */
export function horizontalPodAutoscalerDefinition(names: Names): ResourceDefinition {
  const { prepareForCreate, prepareForUpdate } = statusApart(autoscalerSchema)
  return Object.freeze({
    group: 'autoscaling',
    version: 'v2',
    kind: 'HorizontalPodAutoscaler',
    plural: 'horizontalpodautoscalers',
    singular: 'horizontalpodautoscaler',
    shortNames: ['hpa'],
    categories: ['all'],
    scope: 'Namespaced',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: autoscalerSchema,
    validateName: checkDns1123Subdomain,
    deleteReturnsObject: false,
    columns: autoscalerColumns,
    hooks: {
      // `v1` has some members of this version in annotations, which are redundant here.
      fillDefaults: (object) => fillAutoscaler(withoutAutoscalerAnnotations(object, names)),
      prepareForCreate: (object, writing) => withoutContainerMetrics(prepareForCreate(object, writing), null),
      prepareForUpdate: (object, current, writing) =>
        withoutContainerMetrics(prepareForUpdate(object, current, writing), current),
    },
    subresources: [statusSubresource()],
  } satisfies ResourceDefinition)
}

/** The version for older clients; its status always has counts and lists. Stored as `v2`. */
export function horizontalPodAutoscalerV2beta2Definition(names: Names): ResourceDefinition {
  const stable = horizontalPodAutoscalerDefinition(names)
  const { group, version, kind } = stable
  const { prepareForCreate, prepareForUpdate } = statusApart(autoscalerV2beta2Schema)
  return Object.freeze({
    ...stable,
    version: 'v2beta2',
    schema: autoscalerV2beta2Schema,
    storedAs: {
      name: version,
      conversion: {
        toStored: withoutUnsetStatus,
        fromStored: (object) => ({ ...object, ...applyDefaults(autoscalerV2beta2Schema, object) }),
      },
    },
    hooks: {
      ...stable.hooks,
      prepareForCreate: (object, writing) => withoutContainerMetrics(prepareForCreate(object, writing), null),
      prepareForUpdate: (object, current, writing) =>
        withoutContainerMetrics(prepareForUpdate(object, current, writing), current),
    },
    deprecated: { since: '1.23', removed: '1.26', replacement: { group, version, kind } },
  } satisfies ResourceDefinition)
}

/** Removes zeros and nulls of the status that the stored version omits. */
function withoutUnsetStatus(object: AnyObject): AnyObject {
  const status = objectMember(object, 'status')
  const unset = ['currentReplicas', 'conditions'].filter((name) => {
    const value = memberOf(status, name)
    return value === 0 || value === null
  })
  return unset.length === 0 ? object : { ...object, status: withoutMembers(status, ...unset) }
}
