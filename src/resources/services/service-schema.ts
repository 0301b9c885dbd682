import {
  flag,
  int32,
  intOrString,
  listOf,
  maybe,
  part,
  struct,
  text,
  textMap,
  texts,
} from '../../api/schema/build.ts'
import { conditionSchema } from '../common/condition.ts'
import { loadBalancerStatusSchema } from './load-balancer-status.ts'
import { checkQualifiedName } from '../../api/metadata/name-rules.ts'

const servicePortSchema = struct('core.v1.ServicePort', 'A port of a Service.', {
  name: text(1, 'Name of the port; required when there are several.'),
  protocol: text(2, 'Protocol: TCP, UDP or SCTP.', { enum: ['SCTP', 'TCP', 'UDP'], default: 'TCP' }),
  appProtocol: text(6, 'Application protocol: a standard service name, or a name with a domain.', {
    optional: true,
    rule: checkQualifiedName,
  }),
  port: int32(3, 'Port of the Service.', { required: true, always: true, minimum: 1, maximum: 65535 }),
  targetPort: intOrString(4, 'Port of the Pods, by number or name; the port of the Service when unset.', {
    always: true,
  }),
  nodePort: int32(5, 'Port on each node, of Services of type NodePort and LoadBalancer.'),
})

const clientIPConfigSchema = struct('core.v1.ClientIPConfig', 'Settings of affinity by client address.', {
  timeoutSeconds: int32(1, 'How long a client stays at one Pod, in seconds.', {
    optional: true,
    minimum: 1,
    maximum: 86400,
  }),
})

const sessionAffinityConfigSchema = struct('core.v1.SessionAffinityConfig', 'Settings of session affinity.', {
  clientIP: maybe(1, clientIPConfigSchema, 'Settings of affinity by client address.'),
})

const serviceSpecSchema = struct('core.v1.ServiceSpec', 'Desired state of a Service.', {
  ports: listOf(1, servicePortSchema, 'Ports of the Service.', {
    patchMergeKey: 'port',
    patchStrategy: 'merge',
    listType: 'map',
    listMapKeys: ['port', 'protocol'],
  }),
  selector: textMap(
    2,
    'Labels of the Pods behind the Service; without labels, other programs manage its endpoints.',
    { mapType: 'atomic' },
  ),
  clusterIP: text(3, 'The first of the cluster addresses; None for a headless Service.'),
  clusterIPs: texts(18, 'Cluster addresses of the Service, at most one of each family.', {
    listType: 'atomic',
  }),
  type: text(4, 'How the Service is published: ClusterIP, NodePort, LoadBalancer or ExternalName.', {
    enum: ['ClusterIP', 'ExternalName', 'LoadBalancer', 'NodePort'],
    default: 'ClusterIP',
  }),
  externalIPs: texts(5, 'Further addresses at which nodes accept traffic for the Service.'),
  sessionAffinity: text(7, 'Session affinity: ClientIP or None.', {
    enum: ['ClientIP', 'None'],
    default: 'None',
  }),
  loadBalancerIP: text(8, 'Requested address of the load balancer, which its implementation may ignore.'),
  loadBalancerSourceRanges: texts(9, 'Networks whose clients the load balancer admits.'),
  externalName: text(10, 'Name that the DNS returns as an alias, for the type ExternalName.'),
  externalTrafficPolicy: text(11, 'Routing of external traffic: Cluster, or Local to the Pods of the node.', {
    enum: ['Cluster', 'Local'],
  }),
  healthCheckNodePort: int32(12, 'Port for health checks of nodes, with the policy Local.'),
  publishNotReadyAddresses: flag(13, 'Whether Pods that are not ready are published too.'),
  sessionAffinityConfig: maybe(14, sessionAffinityConfigSchema, 'Settings of session affinity.'),
  ipFamilies: listOf(
    19,
    { type: 'string', enum: ['IPv4', 'IPv6'] },
    'Address families of the Service, in the order of its addresses.',
    { listType: 'atomic' },
  ),
  ipFamilyPolicy: text(17, 'Number of families: SingleStack, PreferDualStack or RequireDualStack.', {
    optional: true,
    enum: ['PreferDualStack', 'RequireDualStack', 'SingleStack'],
  }),
  allocateLoadBalancerNodePorts: flag(20, 'Whether a load balancer gets node ports; true by default.', {
    optional: true,
  }),
  loadBalancerClass: text(21, 'Class of the load balancer implementation.', {
    optional: true,
    rule: checkQualifiedName,
  }),
  internalTrafficPolicy: text(
    22,
    'Routing of traffic from within the cluster: Cluster, or Local to the Pods of the node.',
    { optional: true, enum: ['Cluster', 'Local'] },
  ),
})

const serviceStatusSchema = struct('core.v1.ServiceStatus', 'Observed state of a Service.', {
  loadBalancer: part(1, loadBalancerStatusSchema, 'Addresses of its load balancer.'),
  conditions: listOf(2, conditionSchema, 'Conditions of the Service.', {
    patchMergeKey: 'type',
    patchStrategy: 'merge',
    listType: 'map',
    listMapKeys: ['type'],
  }),
})

export const serviceSchema = struct('core.v1.Service', 'A name and addresses for a set of Pods.', {
  spec: part(2, serviceSpecSchema, 'Desired state of the Service.'),
  status: part(
    3,
    serviceStatusSchema,
    'Observed state of the Service; set by the load balancer implementation.',
  ),
})
