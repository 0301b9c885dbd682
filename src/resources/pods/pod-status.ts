import { listOf, struct, text, time } from '../../api/schema/build.ts'
import { containerStatuses } from '../containers/container-status.ts'

const podConditionSchema = struct('core.v1.PodCondition', 'A condition of a Pod.', {
  type: text(1, 'Type of the condition.', { required: true, always: true }),
  status: text(2, 'Status of the condition: True, False or Unknown.', { required: true, always: true }),
  lastProbeTime: time(3, 'Time of the last probe.'),
  lastTransitionTime: time(4, 'Time of the last change of the status.'),
  reason: text(5, 'Machine-readable reason, in CamelCase.'),
  message: text(6, 'Human-readable message.'),
})

const podIPSchema = struct('core.v1.PodIP', 'An IP address of a Pod.', {
  ip: text(1, 'An IP address of a Pod.'),
})

/** The status is reported by the node; `checkPodStatus` validates it. */
export const podStatusSchema = struct('core.v1.PodStatus', 'Most recently observed state of a Pod.', {
  phase: text(1, 'Phase of the Pod: Pending, Running, Succeeded, Failed or Unknown.', {
    known: ['Pending', 'Running', 'Succeeded', 'Failed', 'Unknown'],
  }),
  conditions: listOf(2, podConditionSchema, 'Conditions of the Pod.', {
    patchMergeKey: 'type',
    patchStrategy: 'merge',
  }),
  message: text(3, 'Human-readable message about the state.'),
  reason: text(4, 'Machine-readable reason for the state, in CamelCase.'),
  nominatedNodeName: text(11, 'Node that is nominated for the Pod while others are preempted.'),
  hostIP: text(5, 'IP address of the node.'),
  podIP: text(6, 'Primary IP address.'),
  podIPs: listOf(12, podIPSchema, 'IP addresses, at most one of each family; the first equals podIP.', {
    patchMergeKey: 'ip',
    patchStrategy: 'merge',
  }),
  startTime: time(7, 'Time when the node accepted the Pod.', { optional: true }),
  initContainerStatuses: containerStatuses(10, 'Statuses of the init containers.'),
  containerStatuses: containerStatuses(8, 'Statuses of the containers.'),
  qosClass: text(9, 'Quality of service class: Guaranteed, Burstable or BestEffort.', {
    known: ['Guaranteed', 'Burstable', 'BestEffort'],
  }),
  ephemeralContainerStatuses: containerStatuses(13, 'Statuses of the ephemeral containers.'),
})
