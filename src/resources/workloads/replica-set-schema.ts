import { int32, int64, listOf, part, struct, text, time } from '../../api/schema/build.ts'
import { requiredSelector } from '../common/selector.ts'
import { podTemplateSpecSchema } from '../pods/pod-template-spec.ts'

const replicaSetConditionSchema = struct('apps.v1.ReplicaSetCondition', 'A condition of a ReplicaSet.', {
  type: text(1, 'Type of the condition, such as ReplicaFailure.', { required: true }),
  status: text(2, 'Status of the condition: True, False or Unknown.', { required: true }),
  lastTransitionTime: time(3, 'Time of the last change of the status.'),
  reason: text(4, 'Machine-readable reason, in CamelCase.'),
  message: text(5, 'Human-readable message.'),
})

export const replicaSetSpecSchema = struct('apps.v1.ReplicaSetSpec', 'Desired state of a ReplicaSet.', {
  replicas: int32(1, 'Desired number of Pods.', { optional: true, default: 1, minimum: 0 }),
  minReadySeconds: int32(4, 'How long a new Pod must be ready to be available, in seconds.', { minimum: 0 }),
  selector: requiredSelector(2, 'Selector of the Pods; immutable.'),
  template: part(3, podTemplateSpecSchema, 'Template of the Pods.'),
})

const replicaSetStatusSchema = struct('apps.v1.ReplicaSetStatus', 'Observed state of a ReplicaSet.', {
  replicas: int32(1, 'Number of Pods.', { required: true, always: true, minimum: 0 }),
  fullyLabeledReplicas: int32(2, 'Number of Pods that have all labels of the template.', { minimum: 0 }),
  readyReplicas: int32(4, 'Number of ready Pods.', { minimum: 0 }),
  availableReplicas: int32(5, 'Number of available Pods.', { minimum: 0 }),
  observedGeneration: int64(3, 'Generation that the controller acted on last.', { minimum: 0 }),
  conditions: listOf(6, replicaSetConditionSchema, 'Conditions of the ReplicaSet.', {
    patchMergeKey: 'type',
    patchStrategy: 'merge',
  }),
})

export const replicaSetSchema = struct('apps.v1.ReplicaSet', 'Keeps a number of equal Pods running.', {
  spec: part(2, replicaSetSpecSchema, 'Desired state of the ReplicaSet.'),
  status: part(3, replicaSetStatusSchema, 'Observed state; set by the controller.'),
})
