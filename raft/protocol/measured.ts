import type { LogSize } from '../log/log-protocol.ts'
import type { TransportMeasure } from '../transport/events.ts'

/** Measurements of the raft and log threads, for metrics. Sent to the api thread periodically. */
export type Measured = {
  /**
   * Duration of each group commit since the last report, in ms, at most `samplesMax` (`meter.ts`).
   */
  readonly syncMs: readonly number[]
  /** Number of writes in each group commit. */
  readonly groupWrites: readonly number[]
  /** null before the first write. */
  readonly log: LogSize | null
  /** null on a member without peers. */
  readonly transport: TransportMeasure | null
  readonly transfers: TransferCounts
  /** Counts since the start. */
  readonly logHealth: { readonly scrubs: number; readonly damages: number; readonly repairs: number }
}

/**
 * Number of leadership transfers that this leader began because of a stall, of transfers to this
 * member that it declined, and of resignations without a target; since the start.
 */
export type TransferCounts = {
  readonly transferred: number
  readonly declined: number
  readonly resigned: number
}
