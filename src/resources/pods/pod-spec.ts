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

const podReadinessGateSchema = struct('core.v1.PodReadinessGate', 'A condition besides the usual ones.', {
  conditionType: text(1, 'Type of the condition in the status.', {
    required: true,
    rule: checkQualifiedName,
  }),
})

const podOSSchema = struct('core.v1.PodOS', 'The operating system that a Pod is made for.', {
  name: text(1, 'linux or windows.', { required: true, enum: ['linux', 'windows'] }),
})

const byName = { patchMergeKey: 'name', patchStrategy: 'merge' } as const

/** What runs together on one node: of a Pod, and of the templates that pods are made from. */
export const podSpecSchema = struct(
  'core.v1.PodSpec',
  'What a Pod runs and what it needs for that.',
  {
    volumes: listOf(1, volumeSchema, 'Volumes that containers may mount.', {
      patchMergeKey: 'name',
      patchStrategy: 'merge,retainKeys',
    }),
    initContainers: listOf(
      20,
      containerSchema,
      'Run to their end, one after the other, before the others.',
      byName,
    ),
    containers: listOf(2, containerSchema, 'What the Pod runs; at least one.', { required: true, ...byName }),
    ephemeralContainers: listOf(
      34,
      ephemeralContainerSchema,
      'Added while it runs, by the subresource of that name.',
      byName,
    ),
    restartPolicy: text(3, 'When containers that have ended are started anew: Always, OnFailure or Never.', {
      default: 'Always',
      enum: ['Always', 'OnFailure', 'Never'],
    }),
    terminationGracePeriodSeconds: int64(4, 'Seconds it gets to end in good order; 0 is none.', {
      optional: true,
      default: 30,
    }),
    activeDeadlineSeconds: int64(5, 'Seconds after which it is ended, whatever it does.', {
      optional: true,
    }),
    dnsPolicy: text(6, 'How it looks names up: ClusterFirst, ClusterFirstWithHostNet, Default or None.', {
      default: 'ClusterFirst',
      enum: ['ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None'],
    }),
    nodeSelector: textMap(7, 'Labels that its node must have.', { mapType: 'atomic' }),
    serviceAccountName: text(8, 'The account that it acts as.', { rule: checkDns1123Subdomain }),
    serviceAccount: text(9, 'Deprecated; as serviceAccountName.'),
    automountServiceAccountToken: flag(21, 'Whether it finds a token of the account in a volume.', {
      optional: true,
    }),
    nodeName: text(10, 'The node it is on; empty until one was chosen.', { rule: checkDns1123Subdomain }),
    hostNetwork: flag(11, 'Whether it uses the network of the node as its own.'),
    hostPID: flag(12, 'Whether it sees the processes of the node.'),
    hostIPC: flag(13, 'Whether it shares memory and semaphores with the node.'),
    shareProcessNamespace: flag(27, 'Whether its containers see the processes of each other.', {
      optional: true,
    }),
    securityContext: maybe(14, podSecurityContextSchema, 'What all containers run as and may do.', {
      default: {},
    }),
    imagePullSecrets: listOf(15, localObjectReferenceSchema, 'Secrets to fetch images with.', byName),
    hostname: text(16, 'Name of its host; unset is its own name.', { rule: checkDns1123Label }),
    subdomain: text(17, 'Subdomain of its host.', { rule: checkDns1123Label }),
    affinity: maybe(18, affinitySchema, 'Where it would like to be, or must be.'),
    schedulerName: text(19, 'Who chooses its node.', { default: 'default-scheduler' }),
    tolerations: listOf(22, tolerationSchema, 'Taints of nodes that do not keep it away.'),
    hostAliases: listOf(23, hostAliasSchema, 'Lines for its hosts file.', {
      patchMergeKey: 'ip',
      patchStrategy: 'merge',
    }),
    priorityClassName: text(24, 'Name of its priority.', { rule: checkDns1123Subdomain }),
    priority: int32(25, 'Its priority: the more the higher.', { optional: true }),
    dnsConfig: maybe(26, podDNSConfigSchema, 'What its resolver is told besides.'),
    readinessGates: listOf(
      28,
      podReadinessGateSchema,
      'Conditions that must hold as well before it is ready.',
    ),
    runtimeClassName: text(29, 'How its containers are run.', {
      optional: true,
      rule: checkDns1123Subdomain,
    }),
    enableServiceLinks: flag(30, 'Whether services of its namespace are told in variables.', {
      optional: true,
    }),
    preemptionPolicy: text(31, 'Whether others make room for it: PreemptLowerPriority, or Never.', {
      optional: true,
      enum: ['PreemptLowerPriority', 'Never'],
    }),
    overhead: quantities(32, 'What running it takes besides its containers.'),
    topologySpreadConstraints: listOf(
      33,
      topologySpreadConstraintSchema,
      'How evenly it and its like are spread; all must hold.',
      {
        patchMergeKey: 'topologyKey',
        patchStrategy: 'merge',
        listType: 'map',
        listMapKeys: ['topologyKey', 'whenUnsatisfiable'],
      },
    ),
    setHostnameAsFQDN: flag(35, 'Whether its hostname is told with its domain.', { optional: true }),
    os: maybe(36, podOSSchema, 'The operating system it is made for.'),
  },
  { check: checkPodShape },
)
