import {
  checkDns1123Label,
  checkDns1123Subdomain,
  checkQualifiedName,
} from '../../api/metadata/name-rules.ts'
import {
  flag,
  int32,
  int64,
  listOf,
  maybe,
  quantities,
  struct,
  text,
  textMap,
} from '../../api/schema/build.ts'
import { affinitySchema } from './affinity.ts'
import { containerSchema, ephemeralContainerSchema } from '../containers/container.ts'
import { localObjectReferenceSchema } from '../common/local-object-reference.ts'
import { hostAliasSchema, podDNSConfigSchema } from './pod-dns.ts'
import { checkPodShape } from './pod-shape.ts'
import { podSecurityContextSchema } from './security-context.ts'
import { tolerationSchema } from './toleration.ts'
import { topologySpreadConstraintSchema } from './topology-spread.ts'
import { volumeSchema } from '../volumes/volume.ts'

const podReadinessGateSchema = struct(
  'core.v1.PodReadinessGate',
  'A condition that must be true for the Pod to be ready.',
  {
    conditionType: text(1, 'Type of the condition in status.conditions.', {
      required: true,
      rule: checkQualifiedName,
    }),
  },
)

const podOSSchema = struct('core.v1.PodOS', 'Operating system of a Pod.', {
  name: text(1, 'Name of the operating system: linux or windows.', {
    required: true,
    enum: ['linux', 'windows'],
  }),
})

const byName = { patchMergeKey: 'name', patchStrategy: 'merge' } as const

/** The spec of a Pod and of pod templates. */
export const podSpecSchema = struct(
  'core.v1.PodSpec',
  'Desired state of a Pod.',
  {
    volumes: listOf(1, volumeSchema, 'Volumes that containers can mount.', {
      patchMergeKey: 'name',
      patchStrategy: 'merge,retainKeys',
    }),
    initContainers: listOf(
      20,
      containerSchema,
      'Containers that run to completion, in order, before the others start.',
      byName,
    ),
    containers: listOf(2, containerSchema, 'Containers of the Pod; at least one.', {
      required: true,
      ...byName,
    }),
    ephemeralContainers: listOf(
      34,
      ephemeralContainerSchema,
      'Debug containers of a running Pod, added through the ephemeralcontainers subresource.',
      byName,
    ),
    restartPolicy: text(3, 'Restart policy of the containers: Always, OnFailure or Never.', {
      default: 'Always',
      enum: ['Always', 'OnFailure', 'Never'],
    }),
    terminationGracePeriodSeconds: int64(
      4,
      'Grace period for termination in seconds; 0 terminates at once.',
      {
        optional: true,
        default: 30,
      },
    ),
    activeDeadlineSeconds: int64(5, 'Maximum run time of the Pod in seconds.', {
      optional: true,
    }),
    dnsPolicy: text(6, 'DNS policy: ClusterFirst, ClusterFirstWithHostNet, Default or None.', {
      default: 'ClusterFirst',
      enum: ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'],
    }),
    nodeSelector: textMap(7, 'Labels that the node must have.', { mapType: 'atomic' }),
    serviceAccountName: text(8, 'Name of the ServiceAccount of the Pod.', { rule: checkDns1123Subdomain }),
    serviceAccount: text(9, 'Deprecated; use serviceAccountName.'),
    automountServiceAccountToken: flag(21, 'Whether a ServiceAccount token is mounted.', {
      optional: true,
    }),
    nodeName: text(10, 'Node of the Pod; empty until it is scheduled.', { rule: checkDns1123Subdomain }),
    hostNetwork: flag(11, 'Whether the Pod uses the network namespace of the node.'),
    hostPID: flag(12, 'Whether the Pod uses the process namespace of the node.'),
    hostIPC: flag(13, 'Whether the Pod uses the IPC namespace of the node.'),
    shareProcessNamespace: flag(27, 'Whether the containers share one process namespace.', {
      optional: true,
    }),
    securityContext: maybe(14, podSecurityContextSchema, 'Security settings of all containers.', {
      default: {},
    }),
    imagePullSecrets: listOf(15, localObjectReferenceSchema, 'Secrets for pulling images.', byName),
    hostname: text(16, 'Host name of the Pod; the name of the Pod when unset.', { rule: checkDns1123Label }),
    subdomain: text(17, 'Subdomain of the host name.', { rule: checkDns1123Label }),
    affinity: maybe(18, affinitySchema, 'Affinity rules for scheduling.'),
    schedulerName: text(19, 'Name of the scheduler.', { default: 'default-scheduler' }),
    tolerations: listOf(22, tolerationSchema, 'Tolerations of node taints.'),
    hostAliases: listOf(23, hostAliasSchema, 'Entries for the hosts file.', {
      patchMergeKey: 'ip',
      patchStrategy: 'merge',
    }),
    priorityClassName: text(24, 'Name of the PriorityClass.', { rule: checkDns1123Subdomain }),
    priority: int32(25, 'Priority; higher values are scheduled first.', { optional: true }),
    dnsConfig: maybe(26, podDNSConfigSchema, 'DNS settings that are added to those of dnsPolicy.'),
    readinessGates: listOf(28, podReadinessGateSchema, 'Additional conditions for the readiness of the Pod.'),
    runtimeClassName: text(29, 'Name of the RuntimeClass.', {
      optional: true,
      rule: checkDns1123Subdomain,
    }),
    enableServiceLinks: flag(30, 'Whether services of the namespace are injected as environment variables.', {
      optional: true,
    }),
    preemptionPolicy: text(31, 'Preemption policy: PreemptLowerPriority or Never.', {
      optional: true,
      enum: ['PreemptLowerPriority', 'Never'],
    }),
    overhead: quantities(32, 'Resource overhead of the Pod itself.'),
    topologySpreadConstraints: listOf(
      33,
      topologySpreadConstraintSchema,
      'Topology spread constraints; all must be satisfied.',
      {
        patchMergeKey: 'topologyKey',
        patchStrategy: 'merge',
        listType: 'map',
        listMapKeys: ['topologyKey', 'whenUnsatisfiable'],
      },
    ),
    setHostnameAsFQDN: flag(35, 'Whether the host name is the fully qualified domain name.', {
      optional: true,
    }),
    os: maybe(36, podOSSchema, 'Operating system of the Pod.'),
  },
  { check: checkPodShape },
)
