import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { LogActor } from '../log/log-actor.ts'
import type { ApiToLog, LogToApi, LogToRaft, RaftToLog } from '../log/log-protocol.ts'
import type { LogStore, Transport } from '../ports.ts'
import { MemoryClusterRecord } from '../protocol/founding.ts'
import type { ClusterRecordStore } from '../protocol/founding.ts'
import { MemoryPeerBook } from '../protocol/peer-log-ids.ts'
import { directChannel } from './direct-channel.ts'
import { refuseAltered } from '../protocol/command-checksum-guard.ts'
import { SharedLease } from '../protocol/shared-lease.ts'
import { ChannelLogReader } from './log-reader.ts'
import { RaftNode } from '../node/node.ts'
import type { NodeOptions } from '../protocol/node-options.ts'
import type { ApiToRaft, RaftToApi } from '../protocol/thread-messages.ts'
import { RaftActor } from '../driver/raft-actor.ts'

export type InlineNodeOptions = {
  readonly node: NodeOptions
  readonly clock: Clock
  readonly random: Random
  readonly transport: Transport
  /** An open log, which the node closes. */
  readonly log: LogStore
  /** Unset: a new one in memory, for a log that is also new. */
  readonly clusterRecord?: ClusterRecordStore
  /** See `RaftNodeOptions`. */
  readonly onFatal: (cause: string) => void
  readonly onRemoved?: (cause: string) => void
}

/** Creates a member with all actors on the calling thread: for `--in-memory`, and for tests. */
export function inlineNode<Outcome>(options: InlineNodeOptions): RaftNode<Outcome> {
  const { node, clock, random, transport, log, onFatal, onRemoved } = options
  const [apiToRaft, raftToApi] = directChannel<ApiToRaft, RaftToApi>()
  const [raftToLog, logToRaft] = directChannel<RaftToLog, LogToRaft>()
  const [apiToLog, logToApi] = directChannel<ApiToLog, LogToApi>()
  const logActor = new LogActor({
    store: log,
    raft: logToRaft,
    api: logToApi,
    clock,
    refuse: refuseAltered,
    prepare: null,
    // The raft actor is notified too, and reports the failure to the node.
    onFailed: () => undefined,
  })
  const lease = new SharedLease()
  const raftActor = new RaftActor({ node, clock, random, transport, api: raftToApi, log: raftToLog, lease })
  const reader = new ChannelLogReader(apiToLog)
  const close = async (): Promise<void> => {
    for (const channel of [apiToRaft, raftToApi, raftToLog, logToRaft, logToApi]) channel.close()
    reader.close()
  }
  const raftNode = new RaftNode<Outcome>({
    peerBook: new MemoryPeerBook(),
    clusterRecord: options.clusterRecord ?? new MemoryClusterRecord(),
    node,
    clock,
    random,
    raft: apiToRaft,
    reader,
    lease,
    onFatal,
    ...(onRemoved === undefined ? {} : { onRemoved }),
    onPeerEvent: null,
    close,
  })
  raftActor.begin()
  logActor.start()
  return raftNode
}
