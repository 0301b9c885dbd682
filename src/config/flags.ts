import { accessFlags } from './access-flags.ts'
import { admissionFlags } from './admission-flags.ts'
import { admissionPluginFlags } from './admission-plugins-flag.ts'
import { checkMemberName, formatAddress, joinAddress, parseAddress, parseInitialMember } from './address.ts'
import type { InitialMember } from './address.ts'
import { controllersFlag } from './controllers-flag.ts'
import { featureGatesFlag } from './feature-gates.ts'
import { choice, custom, duration, size, text, toggle, wholeNumber } from './flag.ts'
import { nodeAgentFlags } from './node-agent-flags.ts'
import { featureLevelMax } from '../version.ts'
import { limits } from './limits.ts'
import { runtimeConfigFlag } from './runtime-config.ts'
import { serviceAccountFlags } from './service-account-flags.ts'
import { serviceNetworkFlags } from './service-network-flags.ts'
import { signingFlags } from './signing-flags.ts'
import { tlsCipherSuitesFlag, tlsMinVersionFlag } from './tls-flags.ts'
import { settingsBounds } from './settings-bounds.ts'

const hourMs = 3_600_000
const mebibyte = 1024 * 1024

function addressFlag(help: string) {
  return custom<string>({
    fallback: '',
    placeholder: 'host:port',
    help,
    parse: (values) => formatAddress(parseAddress(values.at(-1) ?? '')),
  })
}

function file(help: string) {
  return text('', 'FILE', help)
}

/**
 * All flags of the server, in the order of `--help`. Configuration files use the same names without
 * dashes. Empty text means "not set".
 */
export const flags = {
  name: custom<string>({
    fallback: 'n1',
    placeholder: 'NAME',
    help: 'Name of this member, unique in the cluster: a DNS label.',
    parse: (values) => checkMemberName(values.at(-1) ?? ''),
  }),
  'data-dir': text(
    '',
    'DIR',
    'Directory of all data of this member. One process, one member and one cluster per directory.',
  ),
  'in-memory': toggle(false, 'Keep nothing on disk, for tests. All data is lost when the process ends.'),
  config: file('YAML file with flags. Flags on the command line win.'),
  'api-domain': choice(
    ['orch.io', 'k8s.io'],
    'orch.io',
    'Domain of the API groups, fixed when the cluster is created. k8s.io serves existing clients unchanged.',
  ),

  'bind-address': text('0.0.0.0', 'IP', 'Address to listen on for clients.'),
  'secure-port': wholeNumber(
    6443,
    { min: 0, max: 65_535 },
    'Port for clients (HTTPS). 0 takes any free port, the same one at later starts; only for a member that founds a cluster alone.',
  ),
  'advertise-address': addressFlag(
    'Address that clients connect to, also in the endpoints of the Service of the API server unless it is a loopback address or a name. Unset: --bind-address (127.0.0.1 if that is 0.0.0.0 or ::) and --secure-port.',
  ),
  http2: toggle(
    true,
    'Offer HTTP/2 in addition to HTTP/1.1. It costs more processor time per small request.',
  ),

  'cluster-name': text(
    'orch',
    'NAME',
    'Name of the cluster, the same on every member. Peers of another cluster are refused.',
  ),
  'initial-members': custom<readonly InitialMember[]>({
    fallback: [],
    placeholder: 'NAME=PEER/CLIENT',
    help: 'All members of a new cluster, the same list on each: name, peer address, client address. Unset: this member alone.',
    parse: (values) => values.flatMap((value) => value.split(',')).map(parseInitialMember),
  }),
  join: custom<readonly string[]>({
    fallback: [],
    placeholder: 'host:port,…',
    help: 'Join a running cluster: client addresses of its members; one that responds is enough. Ignored once this member has joined.',
    parse: (values) => values.flatMap((value) => value.split(',')).map(joinAddress),
  }),
  'join-token': text(
    '',
    'TOKEN',
    'Token with which this process may join once. orchctl member add creates it.',
  ),
  'join-token-file': file(
    'File with the join token. Unlike --join-token it is not visible to other users of this host.',
  ),
  'peer-address': addressFlag(
    'Address to listen on for peers, and the one they connect to unless --initial-members differs.',
  ),
  'peer-bind-address': text(
    '',
    'IP',
    'Address to listen on for peers, when it is not the host of --peer-address.',
  ),
  'election-timeout': duration(
    300,
    { minMs: 50, maxMs: limits.electionMsMax },
    'Election timeout (randomized between 1x and 2x): a follower without contact to the leader for that long campaigns.',
  ),
  'heartbeat-interval': duration(
    100,
    { minMs: 5, maxMs: 10_000 },
    'Interval of the heartbeats of a leader; at most a third of the election timeout. Without writes it sends every fifth, and followers wait nine intervals longer. The same on all members.',
  ),

  'tls-cert-file': file('Certificate of the client port (PEM). Unset: a single member creates its own.'),
  'tls-private-key-file': file('Key of the client port (PEM).'),
  'client-ca-file': file('CA certificates (PEM bundle) to verify clients. Needs --tls-cert-file.'),
  'tls-min-version': tlsMinVersionFlag(),
  'tls-cipher-suites': tlsCipherSuitesFlag(),
  'peer-ca-file': file('CA certificates (PEM bundle) to verify peers.'),
  'peer-cert-file': file('Certificate that this member presents to peers (PEM).'),
  'peer-key-file': file('Key of --peer-cert-file (PEM).'),

  ...accessFlags,
  ...admissionFlags,
  ...serviceAccountFlags,
  ...signingFlags,
  ...admissionPluginFlags,

  'encryption-provider-config': file(
    'EncryptionConfiguration: the resources that are stored encrypted, and the keys. Read again when it changes. Give all members the same file.',
  ),

  'encryption-ignore-lost-keys': toggle(
    false,
    'Start although stored objects cannot be decrypted with the keys of --encryption-provider-config. They are errors until they are deleted; everything else is served.',
  ),

  'audit-policy-file': file('Audit policy: an object of kind Policy of the group audit, YAML or JSON.'),
  'audit-log-path': text(
    '',
    'FILE',
    'File for audit events, one JSON line each; - is standard output. Full files are renamed within the directory. Not fsynced: a power failure may lose the last events.',
  ),
  'audit-log-maxsize': wholeNumber(
    0,
    { min: 0, max: 1_000_000 },
    'Size in MiB at which the audit log is rotated; 0 means 100.',
  ),
  'audit-log-maxbackup': wholeNumber(
    0,
    { min: 0, max: 100_000 },
    'Number of rotated audit logs to keep; 0 keeps all.',
  ),
  'audit-log-maxage': wholeNumber(
    0,
    { min: 0, max: 36_500 },
    'Days for which rotated audit logs are kept; 0 keeps them for ever.',
  ),
  'audit-log-format': choice(['json'], 'json', 'Format of audit events.'),
  'audit-log-mode': choice(
    ['blocking', 'blocking-strict', 'batch'],
    'blocking',
    'blocking: a request waits until its first event is written or lost. blocking-strict: it is refused when the event is lost. batch: no request waits; beyond 10000 unwritten events or 32 MiB of them the newest are lost.',
  ),
  'audit-webhook-config-file': file(
    'Kubeconfig of a server that receives audit events as lists by POST. Requests do not wait for it. Needs --audit-policy-file.',
  ),
  'audit-webhook-batch-max-wait': duration(
    30_000,
    { minMs: 1, maxMs: hourMs },
    'How long an event waits to be sent together with others, at most 400 in one list.',
  ),
  'audit-webhook-initial-backoff': duration(
    10_000,
    { minMs: 1, maxMs: hourMs },
    'Delay before the first retry of a list that was not accepted; it grows exponentially, with five attempts in total.',
  ),

  ...nodeAgentFlags,
  ...serviceNetworkFlags,

  'runtime-config': runtimeConfigFlag(),
  'feature-gates': featureGatesFlag(),
  controllers: controllersFlag(),

  'request-timeout': duration(
    limits.requestMsMax,
    { minMs: 1000, maxMs: hourMs },
    'Time limit of a request, except watches.',
  ),
  'max-requests-inflight': wholeNumber(
    limits.requestsReadingMax,
    { min: 1, max: 100_000 },
    'Reads in progress at once; more get 429.',
  ),
  'max-mutating-requests-inflight': wholeNumber(
    limits.requestsWritingMax,
    { min: 1, max: 100_000 },
    'Writes in progress at once; more get 429.',
  ),
  'shutdown-delay-duration': duration(
    0,
    { minMs: 0, maxMs: hourMs },
    'How long a stopping member continues to serve while it is not ready, so that load balancers notice.',
  ),
  'shutdown-grace-duration': duration(
    10_000,
    { minMs: 0, maxMs: hourMs },
    'How long requests in progress may take to finish after --shutdown-delay-duration.',
  ),
  'livez-grace-period': duration(
    0,
    { minMs: 0, maxMs: hourMs },
    'How long after the start /livez succeeds without checks.',
  ),

  'initial-history-window': duration(
    300_000,
    { minMs: settingsBounds.historyWindowMs.min, maxMs: settingsBounds.historyWindowMs.max },
    'How long superseded versions stay readable. Only for a new cluster.',
  ),
  'initial-history-events-min': wholeNumber(
    10_000,
    settingsBounds.historyEventsMin,
    'Number of newest watch events to keep at least. Only for a new cluster.',
  ),
  'initial-storage-quota': size(
    8 * 1024 * mebibyte,
    settingsBounds.storageBytesMax,
    'Quota of objects and their history. Only for a new cluster; later use orchctl settings set.',
  ),
  'event-ttl': duration(
    limits.eventMsMax,
    { minMs: 0, maxMs: 8760 * hourMs },
    'Minimum lifetime of an Event object after its last write; 0 keeps events. The leader applies it, so use the same value on all members.',
  ),
  'identity-lease-duration-seconds': wholeNumber(
    3600,
    { min: 1, max: 8760 * 3600 },
    'Time after which the Lease of an API server that does not renew it is deleted. See the feature gate APIServerIdentity.',
  ),
  'identity-lease-renew-interval-seconds': wholeNumber(
    60,
    { min: 1, max: 3600 },
    'Interval at which this member renews its Lease, less than --identity-lease-duration-seconds. Each renewal is a write.',
  ),
  'terminated-pod-gc-threshold': wholeNumber(
    12_500,
    { min: 0, max: 10_000_000 },
    'Number of ended Pods (Succeeded, Failed) to keep; beyond it the oldest are deleted. 0 keeps all. The leader applies it, so use the same value on all members.',
  ),
  'feature-level-max': wholeNumber(
    featureLevelMax,
    { min: 1, max: featureLevelMax },
    'Highest feature level that this member accepts. A level below the default postpones the level raise of an upgrade, so that a downgrade stays possible.',
  ),
  'log-retention-entries': wholeNumber(
    20_000,
    { min: 0, max: 10_000_000 },
    'Log entries to keep for lagging members after the database has them.',
  ),
  'log-retention-bytes': wholeNumber(
    64 * mebibyte,
    { min: 0, max: 1024 * 1024 * mebibyte },
    'Limit in bytes of the log entries kept for lagging members. While a connected member needs more: four times this limit, or the size of the snapshot that it receives, if that is larger.',
  ),

  'log-level': choice(
    ['debug', 'info', 'warn', 'error'],
    'info',
    'Lowest level of log lines on standard output.',
  ),
  'log-format': choice(['json', 'text'], 'json', 'Format of log lines: json for programs, text for people.'),
} as const

export type FlagName = keyof typeof flags
