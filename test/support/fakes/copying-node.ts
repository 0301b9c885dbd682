import type { Clock } from '../../../base/clock.ts'
import type { Random } from '../../../base/random.ts'
import {
  defaultLimits,
  defaultTiming,
  MemoryPeerBook,
  MemoryTransport,
  RaftNode,
} from '../../../raft/index.ts'
import type {
  Channel,
  Entry,
  LogStore,
  MemberInfo,
  MemoryNetwork,
  PeerMessage,
  TransportEvent,
  MemoryClusterRecord,
} from '../../../raft/index.ts'
import { LogActor } from '../../../raft/log/log-actor.ts'
import type { ApiToLog, LogToApi, LogToRaft, RaftToLog } from '../../../raft/log/log-protocol.ts'
import { directChannel } from '../../../raft/threads/direct-channel.ts'
import { refuseAltered } from '../../../raft/protocol/command-checksum-guard.ts'
import { ChannelLogReader } from '../../../raft/threads/log-reader.ts'
import type { ApiToRaft, RaftToApi } from '../../../raft/protocol/thread-messages.ts'
import { RaftActor } from '../../../raft/driver/raft-actor.ts'

/** A message between the threads of a member, or from a peer. */
export type Hop =
  | { readonly at: 'api to raft'; readonly message: ApiToRaft }
  | { readonly at: 'peer to raft'; readonly message: PeerMessage }
  | { readonly at: 'raft to log'; readonly message: RaftToLog }
  | { readonly at: 'raft to api'; readonly message: RaftToApi }
  | { readonly at: 'log to api'; readonly message: LogToApi }

export type CopyingNodeOptions = {
  readonly self: MemberInfo
  readonly members: readonly MemberInfo[]
  readonly network: MemoryNetwork
  readonly clock: Clock
  readonly random: Random
  readonly log: LogStore
  readonly clusterRecord: MemoryClusterRecord
  /** Called with each copied message before it is delivered; may change it. */
  readonly onHop: (hop: Hop) => void
  /**
   * Called with the entries of each write to the log: the objects that the raft thread keeps, not
   * their copies.
   */
  readonly onKept: (entries: readonly Entry[]) => void
  readonly onFatal: (cause: string) => void
  readonly onPeerEvent: (event: TransportEvent) => void
}

/**
 * A member on one thread. The messages of `Hop` are copied, as between threads and over the
 * network; those from the log to the raft thread and from the api thread to the log are not.
 */
export function copyingNode<Outcome>(options: CopyingNodeOptions): RaftNode<Outcome> {
  const { self, members, network, clock, random, log, onHop, onKept, onFatal, onPeerEvent } = options
  const [apiToRaft, raftToApi] = directChannel<ApiToRaft, RaftToApi>()
  const [raftToLog, logToRaft] = directChannel<RaftToLog, LogToRaft>()
  const [apiToLog, logToApi] = directChannel<ApiToLog, LogToApi>()
  const node = { id: self.id, members, timing: defaultTiming, limits: defaultLimits }
  const kept = copied(raftToLog, (message) => onHop({ at: 'raft to log', message }))
  const transport = new CopyingTransport({ network, cluster: 'test', self, clock, queueMessagesMax: 4096 })
  transport.onCopy = (message) => onHop({ at: 'peer to raft', message })
  new LogActor({
    ...{ store: log, raft: logToRaft, clock, prepare: null, refuse: refuseAltered },
    api: copied(logToApi, (message) => onHop({ at: 'log to api', message })),
    onFailed: () => undefined,
  }).start()
  new RaftActor({
    ...{ node, clock, random, transport },
    api: copied(raftToApi, (message) => onHop({ at: 'raft to api', message })),
    log: {
      ...kept,
      post: (message) => {
        if (message.kind === 'write') onKept(message.entries)
        kept.post(message)
      },
    },
  }).begin()
  const reader = new ChannelLogReader(apiToLog)
  return new RaftNode<Outcome>({
    ...{
      peerBook: new MemoryPeerBook(),
      clusterRecord: options.clusterRecord,
      node,
      clock,
      random,
      reader,
      onFatal,
      onPeerEvent,
    },
    raft: copied(apiToRaft, (message) => onHop({ at: 'api to raft', message })),
    close: async () => {
      // In a server the other threads end with the process; here they end by messages.
      apiToRaft.post({ kind: 'stop' })
      await new Promise((resolve) => clock.after(1, () => resolve(undefined)))
      await transport.close()
      for (const channel of [apiToRaft, raftToApi, raftToLog, logToRaft, logToApi]) channel.close()
      reader.close()
    },
  })
}

function copied<Out, In>(channel: Channel<Out, In>, onCopy: (message: Out) => void): Channel<Out, In> {
  return {
    post: (message) => {
      const copy = structuredClone(message)
      onCopy(copy)
      channel.post(copy)
    },
    flush: () => channel.flush(),
    onMessages: (handler) => channel.onMessages(handler),
    close: () => channel.close(),
  }
}

class CopyingTransport extends MemoryTransport {
  onCopy: (message: PeerMessage) => void = () => undefined

  override start(receiver: Parameters<MemoryTransport['start']>[0]): Promise<void> {
    return super.start({
      ...receiver,
      receive: (message) => {
        const copy = structuredClone(message)
        this.onCopy(copy)
        receiver.receive(copy)
      },
    })
  }
}
