import { MessageChannel, Worker } from 'node:worker_threads'
import type { MessagePort } from 'node:worker_threads'
import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { NodeId } from '../core/types.ts'
import type { ApiToLog, LogToApi } from '../log/log-protocol.ts'
import type { TransportEvent } from '../transport/events.ts'
import type { GrpcTransportOptions } from '../transport/grpc-transport.ts'
import type { ClusterRecordStore } from '../protocol/founding.ts'
import type { PeerBook } from '../protocol/peer-log-ids.ts'
import { MessagePortChannel } from './message-port-channel.ts'
import { SharedLease } from '../protocol/shared-lease.ts'
import { ChannelLogReader } from './log-reader.ts'
import type { Measured } from '../protocol/measured.ts'
import { RaftNode } from '../node/node.ts'
import { threadYoungGenerationMiB } from '../protocol/node-options.ts'
import type { NodeOptions } from '../protocol/node-options.ts'
import type { ApiToRaft, RaftToApi } from '../protocol/thread-messages.ts'
import { oneLine } from '../protocol/one-line.ts'
import { ThreadEnd } from './thread-end.ts'

/**
 * The threads of a member. They may be started before it is known what they work on: starting a
 * thread and loading its program takes as long as reading the keys and the configuration.
 */
export class StartedThreads {
  readonly log: Worker
  readonly raft: Worker
  #isUsed = false

  /** @param hasPeers loads what connects to peers, too */
  constructor({ hasPeers }: { readonly hasPeers: boolean }) {
    this.log = started('./log-thread.js', 'orch-log', { role: 'log' })
    this.raft = started('./raft-thread.js', 'orch-raft', { role: 'raft', hasPeers })
  }

  /** Gives the threads their work. From now on they keep the process alive. */
  begin(log: LogThreadData, raft: RaftThreadData): void {
    this.#isUsed = true
    this.log.ref()
    this.raft.ref()
    this.log.postMessage(log, [log.raft, log.api])
    this.raft.postMessage(raft, [raft.api, raft.log])
  }

  /** Ends threads that have not begun. */
  async close(): Promise<void> {
    if (!this.#isUsed) await Promise.all([this.log.terminate(), this.raft.terminate()])
  }
}

/** Starts a thread that does not keep the process alive. */
function started(file: string, name: string, workerData: object): Worker {
  const resourceLimits = { maxYoungGenerationSizeMb: threadYoungGenerationMiB }
  const worker = new Worker(new URL(file, import.meta.url), { name, workerData, resourceLimits })
  worker.unref()
  return worker
}

export type ThreadedNodeOptions = {
  /** Unset: the threads are started now. */
  readonly threads?: StartedThreads
  readonly node: NodeOptions
  /** Directory of the log; it is created if it does not exist. */
  readonly logDirectory: string
  /** null: a member without peers, which opens no port and loads no gRPC. */
  readonly transport: Omit<GrpcTransportOptions, 'clock' | 'random' | 'onEvent'> | null
  /** URL of a module that exports `threadHost`; see `ThreadHost`. */
  readonly hostUrl: string
  /** URL of a module that exports `isCommand`; see `RaftActorOptions`. Unset: not checked. */
  readonly commandUrl?: string
  readonly peerBook: PeerBook
  readonly clusterRecord: ClusterRecordStore
  readonly onFounding?: (awaited: readonly string[]) => void
  /** The clock of the calling thread. */
  readonly clock: Clock
  readonly random: Random
  /** See `RaftNodeOptions`; also called when a thread dies. */
  readonly onFatal: (cause: string) => void
  readonly onRemoved?: (cause: string) => void
  /** Called with each event of the peer links, for operators. */
  readonly onPeerEvent: (event: TransportEvent) => void
  /** See `RaftNodeOptions`. */
  readonly onLogNotice?: (line: string) => void
  /** Called with measurements for metrics, about once a second. */
  readonly onMeasured: (measured: Measured) => void
}

/** The data that the raft thread begins with: plain data and ports. */
export type RaftThreadData = {
  readonly role: 'raft'
  readonly node: NodeOptions
  readonly transport: ThreadedNodeOptions['transport']
  readonly hostUrl: string
  readonly commandUrl: string | null
  readonly api: MessagePort
  readonly log: MessagePort
  /** The buffer of the `SharedLease`. */
  readonly lease: SharedArrayBuffer
  /** The stop flag of the `ThreadEnd`. */
  readonly stopFlag: SharedArrayBuffer
}

/** The data that the log thread begins with: plain data and ports. */
export type LogThreadData = {
  readonly role: 'log'
  readonly directory: string
  /** The member that the log belongs to. */
  readonly owner: NodeId
  readonly hostUrl: string
  readonly raft: MessagePort
  readonly api: MessagePort
}

/**
 * Starts a member with a thread for consensus and one for the log; the calling thread is its api
 * thread.
 */
export function threadedNode<Outcome>(options: ThreadedNodeOptions): RaftNode<Outcome> {
  const { node, clock, random, hostUrl } = options
  const apiRaft = new MessageChannel()
  const apiLog = new MessageChannel()
  const raftLog = new MessageChannel()
  const raft = new MessagePortChannel<ApiToRaft, RaftToApi>({ port: apiRaft.port1, lifetime: 'ref' })
  const log = new MessagePortChannel<ApiToLog, LogToApi>({ port: apiLog.port1, lifetime: 'ref' })
  const lease = new SharedLease()
  const logData: LogThreadData = {
    role: 'log',
    directory: options.logDirectory,
    owner: node.id,
    hostUrl,
    raft: raftLog.port2,
    api: apiLog.port2,
  }
  const raftData: RaftThreadData = {
    role: 'raft',
    node,
    transport: options.transport,
    hostUrl,
    commandUrl: options.commandUrl ?? null,
    api: apiRaft.port2,
    log: raftLog.port1,
    lease: lease.buffer,
    stopFlag: ThreadEnd.shared(),
  }
  const threads = options.threads ?? new StartedThreads({ hasPeers: options.transport !== null })
  const { log: logThread, raft: raftThread } = threads
  threads.begin(logData, raftData)
  const raftEnd = new ThreadEnd(raftThread, raftData.stopFlag)
  const reader = new ChannelLogReader(log)
  const close = async (): Promise<void> => {
    raft.close()
    reader.close()
    await Promise.all([raftEnd.end(), logThread.terminate()])
  }
  const { onFatal, onRemoved, onFounding, onPeerEvent, onLogNotice, onMeasured } = options
  const raftNode = new RaftNode<Outcome>({
    peerBook: options.peerBook,
    clusterRecord: options.clusterRecord,
    ...(onFounding === undefined ? {} : { onFounding }),
    node,
    clock,
    random,
    raft,
    reader,
    lease,
    onFatal,
    ...(onRemoved === undefined ? {} : { onRemoved }),
    onPeerEvent,
    ...(onLogNotice === undefined ? {} : { onLogNotice }),
    onMeasured,
    close,
  })
  for (const worker of [logThread, raftThread]) {
    worker.on('error', (cause) => raftNode.fail(oneLine(cause)))
    // A log thread that cannot open its log exits with code 0; the raft thread reports the error.
    worker.on('exit', (code) => {
      if (code !== 0) raftNode.fail(`a thread ended with code ${code}`)
    })
  }
  return raftNode
}
