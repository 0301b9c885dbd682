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

/** The parts that the api thread's side of a member is built from. */
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
  /** Names of the members that are missing to found the cluster. Empty: it is founded. */
  readonly onFounding?: (awaited: readonly string[]) => void
  /** This member cannot continue, with a one-line cause. Called once. */
  readonly onFatal: (cause: string) => void
  /**
   * This member was removed from its cluster, with a one-line cause. Called once; its requests fail
   * from then on.
   */
  readonly onRemoved?: (cause: string) => void
  /**
   * Called with each event of the transport, where that runs on another thread: on the same thread
   * the owner of the transport sees them itself. null: events are ignored.
   */
  readonly onPeerEvent: ((event: TransportEvent) => void) | null
  /** One line about the log: damage that was found, or a repair. */
  readonly onLogNotice?: (line: string) => void
  /** Measurements of the other threads, about once a second. */
  readonly onMeasured?: (measured: Measured) => void
  /** Releases threads and channels, once all actors have stopped. */
  readonly close: () => Promise<void>
}
