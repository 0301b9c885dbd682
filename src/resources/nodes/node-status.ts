import {
  int32,
  int64,
  listOf,
  maybe,
  part,
  quantities,
  struct,
  text,
  texts,
  time,
} from '../../api/schema/build.ts'
import { nodeConfigSourceSchema } from './node-spec.ts'

const nodeConditionSchema = struct('core.v1.NodeCondition', 'One aspect of how the node is.', {
  type: text(1, 'Which aspect, such as Ready or DiskPressure.', { required: true, always: true }),
  status: text(2, 'True, False or Unknown.', { required: true, always: true }),
  lastHeartbeatTime: time(3, 'When the node last said so.'),
  lastTransitionTime: time(4, 'When the status last changed.'),
  reason: text(5, 'Why, in one word for programs.'),
  message: text(6, 'Why, for people.'),
})

const nodeAddressSchema = struct('core.v1.NodeAddress', 'A way to reach the node.', {
  type: text(1, 'Hostname, InternalIP, ExternalIP, InternalDNS or ExternalDNS.', {
    required: true,
    always: true,
  }),
  address: text(2, 'The address.', { required: true, always: true }),
})

const daemonEndpointSchema = struct('core.v1.DaemonEndpoint', 'Where a program of the node listens.', {
  Port: int32(1, 'The port.', { required: true, always: true }),
})

const nodeDaemonEndpointsSchema = struct(
  'core.v1.NodeDaemonEndpoints',
  'Where the programs of the node listen.',
  { kubeletEndpoint: part(1, daemonEndpointSchema, 'The agent of the node.') },
)

const said = { required: true, always: true } as const

const nodeSystemInfoSchema = struct('core.v1.NodeSystemInfo', 'What the machine is and runs.', {
  machineID: text(1, 'Identity that the machine gave itself.', said),
  systemUUID: text(2, 'Identity that its maker gave it.', said),
  bootID: text(3, 'Another one after each start.', said),
  kernelVersion: text(4, 'Version of the kernel.', said),
  osImage: text(5, 'The operating system, for people.', said),
  containerRuntimeVersion: text(6, 'Who runs containers, and its version.', said),
  kubeletVersion: text(7, 'Version of the agent of the node.', said),
  kubeProxyVersion: text(8, 'Version of the proxy for services.', said),
  operatingSystem: text(9, 'The operating system, for programs.', said),
  architecture: text(10, 'What processor it has.', said),
})

const containerImageSchema = struct('core.v1.ContainerImage', 'An image that the node has.', {
  names: texts(1, 'What it is called.', { always: true }),
  sizeBytes: int64(2, 'How large it is, in bytes.'),
})

const attachedVolumeSchema = struct('core.v1.AttachedVolume', 'A volume that is attached to the node.', {
  name: text(1, 'The volume.', said),
  devicePath: text(2, 'Where the node finds it.', said),
})

const nodeConfigStatusSchema = struct(
  'core.v1.NodeConfigStatus',
  'Which settings the node had, when they could come from an object.',
  {
    assigned: maybe(1, nodeConfigSourceSchema, 'The settings it was to use.'),
    active: maybe(2, nodeConfigSourceSchema, 'The settings it used.'),
    lastKnownGood: maybe(3, nodeConfigSourceSchema, 'The settings it would have gone back to.'),
    error: text(4, 'What was wrong with them.'),
  },
)

export const nodeStatusSchema = struct('core.v1.NodeStatus', 'How the node is, as it says itself.', {
  capacity: quantities(1, 'How much of each resource the machine has.'),
  allocatable: quantities(2, 'How much of it is for pods; all of it unless said.'),
  phase: text(3, 'No longer used.', { known: ['Pending', 'Running', 'Terminated'] }),
  conditions: listOf(4, nodeConditionSchema, 'How the node is, by aspect.', {
    patchMergeKey: 'type',
    patchStrategy: 'merge',
  }),
  addresses: listOf(5, nodeAddressSchema, 'How to reach the node.', {
    patchMergeKey: 'type',
    patchStrategy: 'merge',
  }),
  daemonEndpoints: part(6, nodeDaemonEndpointsSchema, 'Where the programs of the node listen.'),
  nodeInfo: part(7, nodeSystemInfoSchema, 'What the machine is and runs.'),
  images: listOf(8, containerImageSchema, 'Images that the node has.'),
  volumesInUse: texts(9, 'Volumes that pods there use.'),
  volumesAttached: listOf(10, attachedVolumeSchema, 'Volumes that are attached to the node.'),
  config: maybe(11, nodeConfigStatusSchema, 'No longer used; not kept.'),
})
