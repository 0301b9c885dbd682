import { checkMemberName, formatAddress, joinAddress, parseAddress, parseInitialMember } from './address.ts'
import type { InitialMember } from './address.ts'
import { featureGatesFlag } from './feature-gates.ts'
import { choice, custom, duration, list, size, text, toggle, wholeNumber } from './flag.ts'
import { featureLevelMax } from '../version.ts'
import { limits } from './limits.ts'
import { runtimeConfigFlag } from './runtime-config.ts'
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
 * Every flag of the server, in the order of `--help`. A configuration file uses the same names without the
 * dashes. Empty text means "not said".
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
    'Everything this member keeps. One process, one member and one cluster per directory.',
  ),
  'in-memory': toggle(false, 'Keep nothing on disk: for tests. All is gone when the process ends.'),
  config: file('Read flags from this YAML file too; what the command line says comes first.'),
  'api-domain': choice(
    ['orch.io', 'k8s.io'],
    'orch.io',
    'Whose names the API speaks; fixed when the cluster is created. k8s.io serves existing clients unchanged.',
  ),

  'bind-address': text('0.0.0.0', 'IP', 'Where to listen for clients.'),
  'secure-port': wholeNumber(
    6443,
    { min: 0, max: 65_535 },
    'Port for clients (HTTPS). 0 takes any free one, the same at each later start: only for a member that founds a cluster alone.',
  ),
  'advertise-address': addressFlag('What clients dial; unset: this host at --secure-port.'),
  http2: toggle(true, 'Offer HTTP/2 beside HTTP/1.1. It costs more processor time per small request.'),

  'cluster-name': text('orch', 'NAME', 'Tells clusters apart; the same on every member.'),
  'initial-members': custom<readonly InitialMember[]>({
    fallback: [],
    placeholder: 'NAME=PEER/CLIENT',
    help: 'All members of a new cluster, the same on each: name, where peers dial it, where clients dial it. Unset: this member alone.',
    parse: (values) => values.flatMap((value) => value.split(',')).map(parseInitialMember),
  }),
  join: custom<readonly string[]>({
    fallback: [],
    placeholder: 'host:port,…',
    help: 'Become a member of a running cluster: where clients dial members of it, one that answers is enough. Not looked at once this member has joined.',
    parse: (values) => values.flatMap((value) => value.split(',')).map(joinAddress),
  }),
  'join-token': text('', 'TOKEN', 'What lets this process join, once: orchctl member add makes it.'),
  'join-token-file': file('It is in this file instead, out of sight of other users of this host.'),
  'peer-address': addressFlag(
    'Where to listen for peers, and what they dial unless --initial-members says otherwise.',
  ),
  'peer-bind-address': text('', 'IP', 'Where to listen for peers when it is not the host of --peer-address.'),
  'election-timeout': duration(
    300,
    { minMs: 50, maxMs: limits.electionMsMax },
    'A follower that hears nothing for this long, up to twice as long, stands for election.',
  ),
  'heartbeat-interval': duration(
    50,
    { minMs: 5, maxMs: 10_000 },
    'A leader speaks at least this often; at most a third of the election timeout.',
  ),

  'tls-cert-file': file('Certificate of the client port, PEM. Unset: a single member makes its own.'),
  'tls-private-key-file': file('Key of the client port, PEM.'),
  'client-ca-file': file('Who vouches for client certificates, PEM, several if need be.'),
  'tls-min-version': tlsMinVersionFlag(),
  'tls-cipher-suites': tlsCipherSuitesFlag(),
  'peer-ca-file': file('Who vouches for peers, PEM, several if need be.'),
  'peer-cert-file': file('What this member shows its peers, PEM.'),
  'peer-key-file': file('Its key, PEM.'),

  'token-auth-file': file('Bearer tokens: lines of token,user,uid,"group1,group2".'),
  'anonymous-auth': toggle(
    true,
    'Treat requests without credentials as user system:anonymous instead of refusing them. Never with AlwaysAllow.',
  ),
  'authorization-mode': list(['RBAC'], 'MODE,…', 'Who decides, in order: RBAC, AlwaysAllow, AlwaysDeny.'),

  'audit-policy-file': file(
    'What the audit log keeps of which requests: a Policy of the group audit, YAML or JSON.',
  ),
  'audit-log-path': text(
    '',
    'FILE',
    'Where audit events go, a JSON line each; full ones are put aside in its directory. - is standard output. Not synced: a power cut may cost the last ones.',
  ),
  'audit-log-maxsize': wholeNumber(
    0,
    { min: 0, max: 1_000_000 },
    'MiB at which the audit log is put aside; 0: 100.',
  ),
  'audit-log-maxbackup': wholeNumber(
    0,
    { min: 0, max: 100_000 },
    'Audit logs put aside that are kept; 0: all.',
  ),
  'audit-log-maxage': wholeNumber(
    0,
    { min: 0, max: 36_500 },
    'Days that an audit log put aside is kept; 0: for ever.',
  ),
  'audit-log-format': choice(['json'], 'json', 'How audit events are written.'),
  'audit-log-mode': choice(
    ['blocking', 'blocking-strict', 'batch'],
    'blocking',
    'blocking: a request waits until its first event is written, or lost; blocking-strict: and is refused when it is lost; batch: none waits, and of more than 10000 unwritten events the newest are lost.',
  ),
  'audit-webhook-config-file': file(
    'Kubeconfig whose server is sent audit events, too, as lists by POST; nobody waits for that. Goes with --audit-policy-file.',
  ),
  'audit-webhook-batch-max-wait': duration(
    30_000,
    { minMs: 1, maxMs: hourMs },
    'How long an event waits for others, up to 400, to be sent with.',
  ),
  'audit-webhook-initial-backoff': duration(
    10_000,
    { minMs: 1, maxMs: hourMs },
    'How long after a list was not taken it is sent again; then longer each time, five times in all.',
  ),

  'runtime-config': runtimeConfigFlag(),
  'feature-gates': featureGatesFlag(),

  'request-timeout': duration(
    limits.requestMsMax,
    { minMs: 1000, maxMs: hourMs },
    'How long a request may take; watches excepted.',
  ),
  'max-requests-inflight': wholeNumber(
    limits.requestsReadingMax,
    { min: 1, max: 100_000 },
    'Reads answered at once; more are told 429.',
  ),
  'max-mutating-requests-inflight': wholeNumber(
    limits.requestsWritingMax,
    { min: 1, max: 100_000 },
    'Writes answered at once; more are told 429.',
  ),
  'shutdown-delay-duration': duration(
    0,
    { minMs: 0, maxMs: hourMs },
    'How long to serve on while saying "not ready", so that load balancers notice.',
  ),
  'shutdown-grace-duration': duration(
    10_000,
    { minMs: 0, maxMs: hourMs },
    'How long calls under way may take to finish after that.',
  ),
  'livez-grace-period': duration(
    0,
    { minMs: 0, maxMs: hourMs },
    'How long after the start /livez answers without looking.',
  ),

  'initial-history-window': duration(
    300_000,
    { minMs: settingsBounds.historyWindowMs.min, maxMs: settingsBounds.historyWindowMs.max },
    'Of a new cluster: superseded versions stay readable this long.',
  ),
  'initial-history-events-min': wholeNumber(
    10_000,
    settingsBounds.historyEventsMin,
    'Of a new cluster: at least this many newest events stay.',
  ),
  'initial-storage-quota': size(
    8 * 1024 * mebibyte,
    settingsBounds.storageBytesMax,
    'Of a new cluster: objects and their history take at most this; later with orchctl settings set.',
  ),
  'event-ttl': duration(
    limits.eventMsMax,
    { minMs: 0, maxMs: 8760 * hourMs },
    'How long an event stays after it was last written, at least; 0: until somebody deletes it. Counts on the leader, so let all members say the same.',
  ),
  'feature-level-max': wholeNumber(
    featureLevelMax,
    { min: 1, max: featureLevelMax },
    'The newest rules this member decides by. One below the default postpones the step that an upgrade takes once all members know it, so that going back stays possible.',
  ),
  'log-retention-entries': wholeNumber(
    20_000,
    { min: 0, max: 10_000_000 },
    'Log entries kept behind the database for members that lag.',
  ),
  'log-retention-bytes': wholeNumber(
    64 * mebibyte,
    { min: 0, max: 1024 * 1024 * mebibyte },
    'At most so many bytes of them; while one that is in touch needs them four times as many, or as many as the state has that it goes on from.',
  ),

  'log-level': choice(
    ['debug', 'info', 'warn', 'error'],
    'info',
    'What to write to standard output, a line each.',
  ),
  'log-format': choice(
    ['json', 'text'],
    'json',
    'How: an object for programs, or time, level, member, what happened and field=value for people.',
  ),
} as const

export type FlagName = keyof typeof flags
