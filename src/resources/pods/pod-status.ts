import { listOf, struct, text, time } from '../../api/schema/build.ts'
import { containerStatuses } from '../containers/container-status.ts'

const podConditionSchema = struct('core.v1.PodCondition', 'One aspect of how a Pod is.', {
  type: text(1, 'Which aspect.', { required: true, always: true }),
  status: text(2, 'True, False or Unknown.', { required: true, always: true }),
  lastProbeTime: time(3, 'When that was last looked at.'),
  lastTransitionTime: time(4, 'When it last changed.'),
  reason: text(5, 'Why, in one word for programs.'),
  message: text(6, 'Why, for people.'),
})

const podIPSchema = struct('core.v1.PodIP', 'An address of a Pod.', { ip: text(1, 'The address.') })

/** Told by the node that the Pod is on; what it may not say is checked on its path. */
export const podStatusSchema = struct('core.v1.PodStatus', 'How a Pod is, as its node tells it.', {
  phase: text(1, 'Where it is in its life: Pending, Running, Succeeded, Failed or Unknown.', {
    known: ['Pending', 'Running', 'Succeeded', 'Failed', 'Unknown'],
  }),
  conditions: listOf(2, podConditionSchema, 'Its aspects.', {
    patchMergeKey: 'type',
    patchStrategy: 'merge',
  }),
  message: text(3, 'Why it is so, for people.'),
  reason: text(4, 'Why it is so, in one word for programs.'),
  nominatedNodeName: text(11, 'The node where others make room for it.'),
  hostIP: text(5, 'Address of its node.'),
  podIP: text(6, 'Its address.'),
  podIPs: listOf(12, podIPSchema, 'Its addresses, one of each family; the first is podIP.', {
    patchMergeKey: 'ip',
    patchStrategy: 'merge',
  }),
  startTime: time(7, 'When its node took it on.', { optional: true }),
  initContainerStatuses: containerStatuses(
    10,
    'Its init containers; the last that is ready is followed by the next.',
  ),
  containerStatuses: containerStatuses(8, 'Its containers.'),
  qosClass: text(9, 'How it is treated when the node runs short: Guaranteed, Burstable or BestEffort.', {
    known: ['Guaranteed', 'Burstable', 'BestEffort'],
  }),
  ephemeralContainerStatuses: containerStatuses(13, 'Its ephemeral containers.'),
})
