import type { Clock } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { Entry, LogIndex, SnapshotMeta } from '../core/types.ts'
import type { Channel, LogWrite, RecoveredLog, Transport } from '../ports.ts'
import type { SharedLease } from '../protocol/shared-lease.ts'
import type { NodeOptions } from '../protocol/node-options.ts'
import type { ApiToRaft, RaftToApi } from '../protocol/thread-messages.ts'

/**
 * The log actor, as the driver uses it. Responses arrive through `Driver.written` and `compacted`.
 */
export interface LogLink {
  write(ticket: number, write: LogWrite): void
  /** @param take called once with the entries; with none when they were compacted */
  fetch(from: LogIndex, bytesMax: number, take: (entries: readonly Entry[]) => void): void
  compact(base: SnapshotMeta): void
  /**
   * Removes compacted entries from the files; the raft actor sends the result to the api thread.
   */
  trim(request: number, through: LogIndex): void
}

export type DriverOptions = {
  readonly node: NodeOptions
  readonly clock: Clock
  readonly random: Random
  readonly transport: Transport
  readonly api: Channel<RaftToApi, ApiToRaft>
  readonly log: LogLink
  readonly recovered: RecoveredLog
  /** Shared with the api thread. Unset: no lease is held. */
  readonly lease?: SharedLease
  /** See `RaftActorOptions`. */
  readonly isCommand?: (payload: Uint8Array) => boolean
  /**
   * Called with a one-line cause when this member cannot continue. Nothing is sent from then on.
   */
  readonly onBroken: (cause: string) => void
  /** Sends what was posted to the other threads. Called at the end of each turn. */
  readonly flush: () => void
  /** Called when a status was sent to the api thread. */
  readonly onStatus?: () => void
}
