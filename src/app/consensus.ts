import { join } from 'node:path'
import type { Logger } from 'pino'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import {
  MemoryLog,
  MemoryNetwork,
  MemoryTransport,
  defaultLimits,
  defaultTiming,
  defaultTransportLimits,
  StartedThreads,
  inlineNode,
  threadedNode,
} from '../../raft/index.ts'
import type { Joining, Measured, NodeId, NodeOptions, RaftNode } from '../../raft/index.ts'
import { formatAddress, parseAddress } from '../config/address.ts'
import type { Config } from '../config/config.ts'
import { limits } from '../config/limits.ts'
import type { Outcome } from '../store/command.ts'
import { FileClusterRecord } from '../data-dir/cluster-record-file.ts'
import { fingerprintOf, foundingOf, hasLog } from '../data-dir/founding.ts'
import type { ShutdownStack } from './shutdown-stack.ts'
import type { MemberKeys } from '../pki/member-keys.ts'
import { lowerPromise, promisedMs } from '../data-dir/lease-promise.ts'
import { FilePeerBook } from '../data-dir/peer-book-file.ts'
import { withPeerPortAdvice } from './peer-port-advice.ts'
import { withReplacement } from './replacement-advice.ts'
import { credentialsOf } from './peer-credentials.ts'
import { initialMembers } from '../data-dir/initial-members.ts'
import { logFolder } from '../data-dir/layout.ts'

export type ConsensusDependencies = {
  /** See `peerCluster`. */
  readonly cluster: string
  readonly id: NodeId
  /** See `OwnIdentity`. */
  readonly joined: Joining | null
  readonly directory: string
  readonly keys: MemberKeys
  /** null: see `startThreads`. */
  readonly workers: StartedThreads | null
  readonly clock: Clock
  readonly random: Random
  readonly log: Logger
  readonly onFatal: (cause: unknown) => void
  /** Called with measurements of the threads, about once a second. */
  readonly onMeasured: (measured: Measured) => void
}

/**
 * Starts the threads of consensus first, so that they start while the rest of the member does.
 * Returns null for a single member that stores nothing.
 */
export function startThreads(config: Config, closing: ShutdownStack): StartedThreads | null {
  const hasPeers = config['peer-cert-file'] !== ''
  if (config['in-memory'] && !hasPeers) return null
  const threads = new StartedThreads({ hasPeers })
  closing.add(() => threads.close())
  return threads
}

/**
 * Opens this member's part of consensus: on threads of its own, or on this thread for a single
 * member that stores nothing.
 */
export function openConsensus(config: Config, dependencies: ConsensusDependencies): RaftNode<Outcome> {
  const { cluster, id, clock, random, keys, log } = dependencies
  const onFatal = (cause: string): void =>
    dependencies.onFatal(withPeerPortAdvice(withReplacement(cause, config), config))
  const node = nodeOptions(config, dependencies)
  const self = { id, name: config.name }
  if (config['in-memory'] && keys.peer === null) {
    const network = new MemoryNetwork()
    const transport = new MemoryTransport({ network, cluster, self, clock, queueMessagesMax: 1 })
    return inlineNode<Outcome>({ node, clock, random, transport, log: new MemoryLog(), onFatal })
  }
  const { peer } = keys
  const logDirectory = join(dependencies.directory, logFolder)
  const electionMs = config['election-timeout']
  const startedMs = clock.monotonicMs()
  const promise = { directory: dependencies.directory, electionMs, hasLog: hasLog(logDirectory), log }
  let owedMs = promisedMs(promise)
  const peerBook = new FilePeerBook(dependencies.directory)
  const clusterRecord = new FileClusterRecord(dependencies.directory)
  // The log IDs of founders are in the cluster record.
  const isNoPeerKnown = peerBook.known().length === 0 && (clusterRecord.read()?.founders ?? []).length === 0
  if (peer !== null && promise.hasLog && isNoPeerKnown) {
    log.warn(
      { path: peerBook.path },
      'no peer is recorded: the first log id that each peer presents is trusted',
    )
  }
  const initial = config['initial-members']
  const founding = peer === null ? '' : foundingOf(dependencies.directory, logDirectory, initial, log)
  const membersChanged =
    dependencies.joined === null && founding !== '' && founding !== fingerprintOf(initial)
  const opened = threadedNode<Outcome>({
    ...(dependencies.workers === null ? {} : { threads: dependencies.workers }),
    node: { ...node, membersChanged, timing: { ...node.timing, promisedMs: owedMs } },
    clock,
    random,
    logDirectory,
    transport:
      peer === null
        ? null
        : {
            cluster,
            self,
            founding,
            listenAddress: peerListenAddress(config),
            credentials: credentialsOf(peer),
            limits: { ...defaultTransportLimits, messageBytesMax: limits.messageBytesMax },
          },
    peerBook,
    clusterRecord,
    onFounding: (awaited) => {
      if (awaited.length === 0) log.info('the cluster is founded')
      else
        log.info({ awaited }, 'the cluster is founded once all initial members take part: waiting for some')
    },
    hostUrl: new URL('../host/thread-host.js', import.meta.url).href,
    commandUrl: new URL('../store/is-command.js', import.meta.url).href,
    onFatal,
    onPeerEvent: (event) => {
      const isGood = ['link-up', 'listening', 'keys-renewed'].includes(event.kind)
      log[isGood ? 'info' : 'warn'](event, 'peer link')
    },
    onLogNotice: (line) =>
      log.warn(
        { finding: line },
        line.startsWith('repaired: ') ? 'the log was repaired' : 'the log is damaged',
      ),
    onMeasured: (measured) => {
      dependencies.onMeasured(measured)
      // By then every lease promise of an earlier process has expired: twice its duration allows
      // for the drift of clocks.
      if (owedMs === electionMs || clock.monotonicMs() < startedMs + 2 * owedMs) return
      owedMs = electionMs
      lowerPromise(dependencies.directory, electionMs, log)
    },
  })
  return opened
}

type PeerAddresses = Pick<Config, 'initial-members' | 'name' | 'peer-address' | 'peer-bind-address'>

/**
 * Returns the address to listen on for peers; empty: none is configured. Without `--peer-address`
 * it is this member's address in the list of initial members, so that one file serves every host.
 */
export function peerListenAddress(config: PeerAddresses): string {
  const own = config['initial-members'].find(({ name }) => name === config.name)
  const address = config['peer-address'] || (own?.peerAddress ?? '')
  const bind = config['peer-bind-address']
  if (bind === '' || address === '') return address
  return formatAddress({ host: bind, port: parseAddress(address).port })
}

function nodeOptions(
  config: Config,
  { cluster, id, joined }: Pick<ConsensusDependencies, 'cluster' | 'id' | 'joined'>,
): NodeOptions {
  return {
    id,
    ...(joined === null ? { members: initialMembers(config, cluster) } : { members: [], joining: joined }),
    timing: {
      heartbeatMs: config['heartbeat-interval'],
      electionMs: config['election-timeout'],
      tickMs: Math.min(defaultTiming.tickMs, config['heartbeat-interval']),
    },
    limits: {
      ...defaultLimits,
      entryBytesMax: limits.entryBytesMax,
      appendBytesMax: limits.appendBytesMax,
      retentionEntries: config['log-retention-entries'],
      retentionBytes: config['log-retention-bytes'],
    },
  }
}
