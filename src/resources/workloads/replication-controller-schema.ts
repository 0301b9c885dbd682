import { int32, int64, listOf, maybe, part, struct, text, textMap, time } from '../../api/schema/build.ts'
import { podTemplateSpecSchema } from '../pods/pod-template-spec.ts'

const replicationControllerConditionSchema = struct(
  'core.v1.ReplicationControllerCondition',
  'A condition of a ReplicationController.',
  {
    type: text(1, 'Type of the condition, such as ReplicaFailure.', { required: true }),
    status: text(2, 'Status of the condition: True, False or Unknown.', { required: true }),
    lastTransitionTime: time(3, 'Time of the last change of the status.'),
    reason: text(4, 'Machine-readable reason, in CamelCase.'),
    message: text(5, 'Human-readable message.'),
  },
)

const replicationControllerSpecSchema = struct(
  'core.v1.ReplicationControllerSpec',
  'Desired state of a ReplicationController.',
  {
    replicas: int32(1, 'Desired number of Pods.', { optional: true, default: 1, minimum: 0 }),
    minReadySeconds: int32(4, 'How long a new Pod must be ready to be available, in seconds.', {
      minimum: 0,
    }),
    selector: textMap(2, 'Labels of the Pods; those of the template when unset.', { mapType: 'atomic' }),
    template: maybe(3, podTemplateSpecSchema, 'Template of the Pods.'),
  },
)

const replicationControllerStatusSchema = struct(
  'core.v1.ReplicationControllerStatus',
  'Observed state of a ReplicationController.',
  {
    replicas: int32(1, 'Number of Pods.', { required: true, always: true, minimum: 0 }),
    fullyLabeledReplicas: int32(2, 'Number of Pods that have all labels of the template.', { minimum: 0 }),
    readyReplicas: int32(4, 'Number of ready Pods.', { minimum: 0 }),
    availableReplicas: int32(5, 'Number of available Pods.', { minimum: 0 }),
    observedGeneration: int64(3, 'Generation that the controller acted on last.', { minimum: 0 }),
    conditions: listOf(6, replicationControllerConditionSchema, 'Conditions of the controller.', {
      patchMergeKey: 'type',
      patchStrategy: 'merge',
    }),
  },
)

export const replicationControllerSchema = struct(
  'core.v1.ReplicationController',
  'Keeps a number of equal Pods running.',
  {
    spec: part(2, replicationControllerSpecSchema, 'Desired state of the controller.'),
    status: part(3, replicationControllerStatusSchema, 'Observed state; set by the controller.'),
  },
)
