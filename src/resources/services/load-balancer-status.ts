import { int32, listOf, struct, text } from '../../api/schema/build.ts'
import { checkLoadBalancer } from './load-balancer-rules.ts'

const portStatusSchema = struct('core.v1.PortStatus', 'State of a port of a load balancer.', {
  port: int32(1, 'Port number.', { required: true, always: true }),
  protocol: text(2, 'Protocol: TCP, UDP or SCTP.', { required: true, enum: ['SCTP', 'TCP', 'UDP'] }),
  error: text(3, 'Why the port is not served, in CamelCase; unset when it is.', { optional: true }),
})

const loadBalancerIngressSchema = struct(
  'core.v1.LoadBalancerIngress',
  'An address at which a load balancer is reached.',
  {
    ip: text(1, 'IP address, of load balancers that have one.'),
    hostname: text(2, 'Host name, of load balancers that have one.'),
    ports: listOf(4, portStatusSchema, 'State of each port.', { listType: 'atomic' }),
  },
)

export const loadBalancerStatusSchema = struct(
  'core.v1.LoadBalancerStatus',
  'Addresses of a load balancer.',
  {
    ingress: listOf(1, loadBalancerIngressSchema, 'Addresses at which the load balancer is reached.'),
  },
  { check: checkLoadBalancer },
)
