import { int32, intOrString, listOf, maybe, part, struct, text, texts } from '../../api/schema/build.ts'
import { conditionSchema } from '../common/condition.ts'
import { selectorSchema } from '../common/selector.ts'
import { checkBlock, checkPeer, checkPolicyPort, checkPolicyTypes } from './network-policy-rules.ts'

const networkPolicyPortSchema = struct(
  'networking.v1.NetworkPolicyPort',
  'A port, or a range of ports.',
  {
    protocol: text(1, 'Protocol: TCP, UDP or SCTP.', {
      optional: true,
      enum: ['SCTP', 'TCP', 'UDP'],
      default: 'TCP',
    }),
    port: intOrString(2, 'Number of the port, or name of a port of the Pods; unset means all ports.', {
      optional: true,
    }),
    endPort: int32(3, 'Last port of a range that begins with port.', { optional: true }),
  },
  { check: checkPolicyPort },
)

const ipBlockSchema = struct(
  'networking.v1.IPBlock',
  'A network, with exceptions.',
  {
    cidr: text(1, 'The network, such as 192.0.2.0/24.', { required: true }),
    except: texts(2, 'Networks within cidr that are excluded.'),
  },
  { check: checkBlock },
)

const networkPolicyPeerSchema = struct(
  'networking.v1.NetworkPolicyPeer',
  'Pods, or a network.',
  {
    podSelector: maybe(
      1,
      selectorSchema,
      'Pods of the namespace of the policy, or of the namespaces that namespaceSelector selects.',
    ),
    namespaceSelector: maybe(2, selectorSchema, 'Namespaces; all of their Pods if there is no podSelector.'),
    ipBlock: maybe(3, ipBlockSchema, 'A network; not together with a selector.'),
  },
  { check: checkPeer },
)

const networkPolicyIngressRuleSchema = struct(
  'networking.v1.NetworkPolicyIngressRule',
  'Traffic to the Pods that is allowed.',
  {
    ports: listOf(1, networkPolicyPortSchema, 'Ports of the Pods; none means all.'),
    from: listOf(2, networkPolicyPeerSchema, 'Sources; none means all.'),
  },
)

const networkPolicyEgressRuleSchema = struct(
  'networking.v1.NetworkPolicyEgressRule',
  'Traffic from the Pods that is allowed.',
  {
    ports: listOf(1, networkPolicyPortSchema, 'Ports of the destinations; none means all.'),
    to: listOf(2, networkPolicyPeerSchema, 'Destinations; none means all.'),
  },
)

const networkPolicySpecSchema = struct(
  'networking.v1.NetworkPolicySpec',
  'Desired state of a policy.',
  {
    podSelector: part(1, selectorSchema, 'Selector of the Pods; an empty one selects all of the namespace.', {
      required: true,
      always: true,
    }),
    ingress: listOf(2, networkPolicyIngressRuleSchema, 'Traffic to the Pods that is allowed.'),
    egress: listOf(3, networkPolicyEgressRuleSchema, 'Traffic from the Pods that is allowed.'),
    policyTypes: listOf(
      4,
      { type: 'string', enum: ['Egress', 'Ingress'] },
      'What the policy restricts: Ingress, Egress or both.',
    ),
  },
  { check: checkPolicyTypes },
)

const networkPolicyStatusSchema = struct(
  'networking.v1.NetworkPolicyStatus',
  'Observed state of a policy; alpha.',
  {
    conditions: listOf(1, conditionSchema, 'Conditions of the policy.', {
      patchMergeKey: 'type',
      patchStrategy: 'merge',
      listType: 'map',
      listMapKeys: ['type'],
    }),
  },
)

export const networkPolicySchema = struct(
  'networking.v1.NetworkPolicy',
  'Which traffic of Pods is allowed.',
  {
    spec: part(2, networkPolicySpecSchema, 'Desired state of the policy.'),
    status: part(3, networkPolicyStatusSchema, 'Observed state; set by the network implementation.'),
  },
)
