import { int32, int64, intOrString, listOf, maybe, part, struct, text, time } from '../../api/schema/build.ts'
import { requiredSelector } from '../common/selector.ts'
import { claimingPodTemplateSpecSchema } from '../pods/pod-template-spec.ts'
import { claimTemplateSchema } from './claim-template.ts'

const statefulSetConditionSchema = struct('apps.v1.StatefulSetCondition', 'A condition of a StatefulSet.', {
  type: text(1, 'Type of the condition.', { required: true }),
  status: text(2, 'Status of the condition: True, False or Unknown.', { required: true }),
  lastTransitionTime: time(3, 'Time of the last change of the status.'),
  reason: text(4, 'Machine-readable reason, in CamelCase.'),
  message: text(5, 'Human-readable message.'),
})

const rollingUpdateStatefulSetStrategySchema = struct(
  'apps.v1.RollingUpdateStatefulSetStrategy',
  'Limits of a rolling update.',
  {
    partition: int32(1, 'Ordinal from which on Pods are updated.', { optional: true, minimum: 0 }),
    maxUnavailable: intOrString(2, 'How many Pods may be unavailable during an update; alpha, dropped.', {
      optional: true,
    }),
  },
)

const statefulSetUpdateStrategySchema = struct(
  'apps.v1.StatefulSetUpdateStrategy',
  'How Pods are replaced after a change of the template.',
  {
    type: text(1, 'Type of the strategy: RollingUpdate or OnDelete.', {
      known: ['OnDelete', 'RollingUpdate'],
    }),
    rollingUpdate: maybe(2, rollingUpdateStatefulSetStrategySchema, 'Limits of a rolling update.'),
  },
)

const retentionPolicySchema = struct(
  'apps.v1.StatefulSetPersistentVolumeClaimRetentionPolicy',
  'What happens to the claims of removed Pods; alpha, dropped.',
  {
    whenDeleted: text(1, 'What happens when the StatefulSet is deleted: Retain or Delete.'),
    whenScaled: text(2, 'What happens when Pods are removed by scaling: Retain or Delete.'),
  },
)

export const statefulSetSpecSchema = struct('apps.v1.StatefulSetSpec', 'Desired state of a StatefulSet.', {
  replicas: int32(1, 'Desired number of Pods.', { optional: true, default: 1, minimum: 0 }),
  selector: requiredSelector(2, 'Selector of the Pods; immutable.'),
  template: part(3, claimingPodTemplateSpecSchema, 'Template of the Pods.', { always: true, required: true }),
  volumeClaimTemplates: listOf(
    4,
    claimTemplateSchema,
    'Claims that each Pod gets, named after the template and the Pod.',
  ),
  serviceName: text(5, 'Name of the headless Service that gives the Pods their names.', {
    required: true,
    always: true,
  }),
  podManagementPolicy: text(6, 'Order of creation and deletion: OrderedReady or Parallel.', {
    known: ['OrderedReady', 'Parallel'],
    default: 'OrderedReady',
  }),
  updateStrategy: part(
    7,
    statefulSetUpdateStrategySchema,
    'How Pods are replaced after a change of the template.',
  ),
  revisionHistoryLimit: int32(8, 'How many old revisions are kept for a rollback.', {
    optional: true,
    default: 10,
    minimum: 0,
  }),
  minReadySeconds: int32(9, 'How long a new Pod must be ready to be available, in seconds.', { minimum: 0 }),
  persistentVolumeClaimRetentionPolicy: maybe(
    10,
    retentionPolicySchema,
    'What happens to the claims of removed Pods; alpha, dropped.',
  ),
})

const statefulSetStatusSchema = struct('apps.v1.StatefulSetStatus', 'Observed state of a StatefulSet.', {
  observedGeneration: int64(1, 'Generation that the controller acted on last.', { minimum: 0 }),
  replicas: int32(2, 'Number of Pods.', { required: true, always: true, minimum: 0 }),
  readyReplicas: int32(3, 'Number of ready Pods.', { minimum: 0 }),
  currentReplicas: int32(4, 'Number of Pods of the current revision.', { minimum: 0 }),
  updatedReplicas: int32(5, 'Number of Pods of the update revision.', { minimum: 0 }),
  currentRevision: text(6, 'Revision of the Pods with the lowest ordinals.'),
  updateRevision: text(7, 'Revision of the Pods with the highest ordinals.'),
  collisionCount: int32(9, 'How often the name of a new revision was taken.', { optional: true, minimum: 0 }),
  conditions: listOf(10, statefulSetConditionSchema, 'Conditions of the StatefulSet.', {
    patchMergeKey: 'type',
    patchStrategy: 'merge',
  }),
  availableReplicas: int32(11, 'Number of available Pods.', { always: true, minimum: 0 }),
})

export const statefulSetSchema = struct('apps.v1.StatefulSet', 'Pods with stable names and storage.', {
  spec: part(2, statefulSetSpecSchema, 'Desired state of the StatefulSet.'),
  status: part(3, statefulSetStatusSchema, 'Observed state; set by the controller.'),
})
