import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { Channel } from '../ports.ts'
import type { TransportEvent } from '../transport/events.ts'
import type { ClusterRecordStore } from '../protocol/founding.ts'
import type { PeerBook } from '../protocol/peer-log-ids.ts'
import type { LogReader } from './applier.ts'
import type { SharedLease } from '../protocol/shared-lease.ts'
import type { Measured } from '../protocol/measured.ts'
import type { NodeOptions } from '../protocol/node-options.ts'
import type { ApiToRaft, RaftToApi } from '../protocol/thread-messages.ts'

/** The dependencies of a `RaftNode`: its settings, the other actors, its stores and callbacks. */
export type RaftNodeOptions = {
  readonly node: NodeOptions
  readonly clock: Clock
  readonly random: Random
  readonly raft: Channel<ApiToRaft, RaftToApi>
  readonly reader: LogReader
  /** Shared with the raft thread. Unset: no lease is held. */
  readonly lease?: SharedLease
  readonly peerBook: PeerBook
  readonly clusterRecord: ClusterRecordStore
  /** Called with the names of the members that are missing to found the cluster; empty: none. */
  readonly onFounding?: (awaited: readonly string[]) => void
  /** Called once with a one-line cause when this member cannot continue. */
  readonly onFatal: (cause: string) => void
  /**
   * Called once with a one-line cause when this member was removed from its cluster. Membership
   * changes fail on it from then on.
   */
  readonly onRemoved?: (cause: string) => void
  /**
   * Called with each event of a transport on another thread. (The owner of a transport on the same
   * thread gets its events directly.) null: events are ignored.
   */
  readonly onPeerEvent: ((event: TransportEvent) => void) | null
  /** Called with one line about the log: damage that was found, or a repair. */
  readonly onLogNotice?: (line: string) => void
  /** Called with measurements of the other threads, about once a second. */
  readonly onMeasured?: (measured: Measured) => void
  /** Called at the end of `RaftNode.stop`: releases threads and channels. */
  readonly close: () => Promise<void>
}
