import type { LogSize } from '../log/log-protocol.ts'
import type { TransportMeasure } from '../transport/events.ts'

/** Measurements of the raft and log threads, for metrics. Sent to the api thread periodically. */
export type Measured = {
  /**
   * Duration of each group commit since the last report, in ms; beyond `samplesMax` the rest is
   * omitted.
   */
  readonly syncMs: readonly number[]
  /** Number of writes in each group commit. */
  readonly groupWrites: readonly number[]
  /** null before the first write. */
  readonly log: LogSize | null
  /** null on a member without peers. */
  readonly transport: TransportMeasure | null
  readonly transfers: TransferCounts
  /** Since the start. */
  readonly logHealth: { readonly scrubs: number; readonly damages: number; readonly repairs: number }
}

/**
 * Number of leadership transfers because of a stall, of transfers that this member declined, and of
 * resignations without a target.
 */
export type TransferCounts = {
  readonly transferred: number
  readonly declined: number
  readonly resigned: number
}
