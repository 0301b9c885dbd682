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

const nodeConditionSchema = struct('core.v1.NodeCondition', 'A condition of a node.', {
  type: text(1, 'Type of the condition, such as Ready or DiskPressure.', { required: true, always: true }),
  status: text(2, 'Status of the condition: True, False or Unknown.', { required: true, always: true }),
  lastHeartbeatTime: time(3, 'Time of the last heartbeat.'),
  lastTransitionTime: time(4, 'Time of the last change of the status.'),
  reason: text(5, 'Machine-readable reason, in CamelCase.'),
  message: text(6, 'Human-readable message.'),
})

const nodeAddressSchema = struct('core.v1.NodeAddress', 'An address of a node.', {
  type: text(1, 'Type of the address: Hostname, InternalIP, ExternalIP, InternalDNS or ExternalDNS.', {
    required: true,
    always: true,
  }),
  address: text(2, 'The address.', { required: true, always: true }),
})

const daemonEndpointSchema = struct('core.v1.DaemonEndpoint', 'A port of a daemon on the node.', {
  Port: int32(1, 'Port number.', { required: true, always: true }),
})

const nodeDaemonEndpointsSchema = struct('core.v1.NodeDaemonEndpoints', 'Ports of the daemons on the node.', {
  kubeletEndpoint: part(1, daemonEndpointSchema, 'Endpoint of the kubelet.'),
})

const given = { required: true, always: true } as const

const nodeSystemInfoSchema = struct('core.v1.NodeSystemInfo', 'System information of a node.', {
  machineID: text(1, 'Machine ID of the operating system.', given),
  systemUUID: text(2, 'System UUID of the hardware.', given),
  bootID: text(3, 'Boot ID; changes with each boot.', given),
  kernelVersion: text(4, 'Version of the kernel.', given),
  osImage: text(5, 'Name of the operating system image.', given),
  containerRuntimeVersion: text(6, 'Container runtime and its version.', given),
  kubeletVersion: text(7, 'Version of the kubelet.', given),
  kubeProxyVersion: text(8, 'Version of kube-proxy.', given),
  operatingSystem: text(9, 'Operating system, such as linux.', given),
  architecture: text(10, 'Processor architecture.', given),
})

const containerImageSchema = struct('core.v1.ContainerImage', 'A container image on the node.', {
  names: texts(1, 'Names of the image.', { always: true }),
  sizeBytes: int64(2, 'Size of the image in bytes.'),
})

const attachedVolumeSchema = struct('core.v1.AttachedVolume', 'A volume that is attached to the node.', {
  name: text(1, 'Name of the volume.', given),
  devicePath: text(2, 'Device path of the volume.', given),
})

const nodeConfigStatusSchema = struct(
  'core.v1.NodeConfigStatus',
  'State of the dynamic node configuration; deprecated.',
  {
    assigned: maybe(1, nodeConfigSourceSchema, 'The assigned configuration.'),
    active: maybe(2, nodeConfigSourceSchema, 'The active configuration.'),
    lastKnownGood: maybe(3, nodeConfigSourceSchema, 'The last configuration that worked.'),
    error: text(4, 'Error of the configuration.'),
  },
)

export const nodeStatusSchema = struct(
  'core.v1.NodeStatus',
  'Observed state of a node, reported by its agent.',
  {
    capacity: quantities(1, 'Total resources of the node.'),
    allocatable: quantities(2, 'Resources available to Pods; defaults to capacity.'),
    phase: text(3, 'Deprecated.', { known: ['Pending', 'Running', 'Terminated'] }),
    conditions: listOf(4, nodeConditionSchema, 'Conditions of the node.', {
      patchMergeKey: 'type',
      patchStrategy: 'merge',
    }),
    addresses: listOf(5, nodeAddressSchema, 'Addresses of the node.', {
      patchMergeKey: 'type',
      patchStrategy: 'merge',
    }),
    daemonEndpoints: part(6, nodeDaemonEndpointsSchema, 'Ports of the daemons on the node.'),
    nodeInfo: part(7, nodeSystemInfoSchema, 'System information of the node.'),
    images: listOf(8, containerImageSchema, 'Container images on the node.'),
    volumesInUse: texts(9, 'Volumes in use by Pods of the node.'),
    volumesAttached: listOf(10, attachedVolumeSchema, 'Volumes that are attached to the node.'),
    config: maybe(11, nodeConfigStatusSchema, 'Deprecated; dropped.'),
  },
)
