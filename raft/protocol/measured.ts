import type { LogSize } from '../log/log-protocol.ts'
import type { TransportMeasure } from '../transport/events.ts'

/**
 * What the raft and log threads of a member did, for its metrics. Sent to the api thread now and
 * then.
 */
export type Measured = {
  /**
   * How long the disk took for each group since the last time, in ms; beyond `samplesMax` the rest
   * is left out.
   */
  readonly syncMs: readonly number[]
  /** How many writes travelled in each of them. */
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
 * How often this member gave leadership away because it stood still, how often it did not take it
 * then, and how often it gave it up to nobody.
 */
export type TransferCounts = {
  readonly transferred: number
  readonly declined: number
  readonly resigned: number
}
