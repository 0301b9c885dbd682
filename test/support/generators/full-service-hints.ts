import type { Json } from '../../../src/api/json.ts'
import type { Hint, Hints } from './hint.ts'

/** Like `full-object-hints.ts`, for Services, endpoints, network rules and flow control. */

const one =
  (value: Json): Hint =>
  () =>
    value

export const serviceHints: Hints = {
  'core.v1.ServiceSpec.type': one('LoadBalancer'),
  'core.v1.ServiceSpec.clusterIP': one('10.96.0.7'),
  'core.v1.ServiceSpec.clusterIPs': one(['10.96.0.7', 'fd00::7']),
  'core.v1.ServiceSpec.ipFamilies': one(['IPv4', 'IPv6']),
  'core.v1.ServiceSpec.externalIPs': one(['192.0.2.1', '2001:db8::1']),
  'core.v1.ServiceSpec.sessionAffinity': one('ClientIP'),
  'core.v1.ServiceSpec.externalTrafficPolicy': one('Local'),
  'core.v1.ServiceSpec.healthCheckNodePort': (maker) => 32_000 + maker.random.below(700),
  'core.v1.ServiceSpec.internalTrafficPolicy': one('Local'),
  'core.v1.ServiceSpec.ipFamilyPolicy': one('PreferDualStack'),
  'core.v1.ServiceSpec.loadBalancerSourceRanges': one(['192.0.2.0/24']),
  'core.v1.ServicePort.targetPort': (maker, variant) =>
    variant % 2 === 0 ? 1 + maker.random.below(60_000) : maker.word(),
  'core.v1.ServicePort.name': (maker) => maker.word(),
  'core.v1.ServicePort.nodePort': (maker) => 30_000 + maker.random.below(2_000),
  'core.v1.LoadBalancerIngress.ip': one('192.0.2.9'),
  'core.v1.EndpointAddress.ip': (maker) => `10.0.3.${1 + maker.random.below(250)}`,
  'meta.v1.Condition.status': one('True'),
  'flowcontrol.v1beta2.Subject.kind': (_maker, variant) =>
    ['User', 'Group', 'ServiceAccount'][variant % 3] ?? 'User',
  'flowcontrol.v1beta2.ResourcePolicyRule.verbs': one(['get', 'list']),
  'flowcontrol.v1beta2.NonResourcePolicyRule.verbs': one(['get']),
  'flowcontrol.v1beta2.NonResourcePolicyRule.nonResourceURLs': one(['/healthz/*', '/version']),
  'flowcontrol.v1beta2.FlowDistinguisherMethod.type': one('ByNamespace'),
  'flowcontrol.v1beta2.LimitResponse.type': one('Queue'),
  'flowcontrol.v1beta2.PriorityLevelConfigurationSpec.type': one('Limited'),
  'flowcontrol.v1beta2.QueuingConfiguration.handSize': one(6),
  'flowcontrol.v1beta2.QueuingConfiguration.queues': one(128),
  'networking.v1.IngressServiceBackend.port': one({ number: 80 }),
  'networking.v1.HTTPIngressPath.path': (maker) => `/${maker.word()}`,
  'networking.v1.HTTPIngressPath.pathType': one('Prefix'),
  'networking.v1.NetworkPolicyPort.port': one(80),
  'networking.v1.NetworkPolicyPort.endPort': one(90),
  'networking.v1.IPBlock.cidr': one('10.0.0.0/8'),
  'networking.v1.IPBlock.except': one(['10.1.0.0/16', '10.2.0.0/16']),
  'discovery.v1.EndpointSlice.addressType': one('IPv6'),
  'discovery.v1beta1.EndpointSlice.addressType': one('IPv6'),
  'discovery.v1.Endpoint.addresses': one(['2001:db8::1', '2001:db8::2']),
  'discovery.v1beta1.Endpoint.addresses': one(['2001:db8::1', '2001:db8::2']),
  // Otherwise the server adds the label of the node.
  'discovery.v1beta1.Endpoint.nodeName': one('node-1'),
  'discovery.v1beta1.Endpoint.topology': ({ names }) => ({ [names.label('hostname')]: 'node-1', rack: 'r7' }),
}
