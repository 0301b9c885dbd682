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

/** What the api thread's end of a member is built of. */
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
  /** What is missing for a cluster to be founded: names of members. Empty: it is founded. */
  readonly onFounding?: (awaited: readonly string[]) => void
  /** This member cannot go on; one line says why. Called once. */
  readonly onFatal: (cause: string) => void
  /**
   * This member belongs to its cluster no more; one line says so. Called once; nothing it is asked
   * succeeds any more.
   */
  readonly onRemoved?: (cause: string) => void
  /** Only where the transport lives on another thread; null: nobody listens. */
  readonly onPeerEvent: ((event: TransportEvent) => void) | null
  /** One line about the log: damage that was found, and what was repaired. */
  readonly onLogNotice?: (line: string) => void
  /** Numbers of the other threads, about once a second. */
  readonly onMeasured?: (measured: Measured) => void
  /** Releases threads and channels, once all actors said their last word. */
  readonly close: () => Promise<void>
}
