import type { Measured } from '../protocol/measured.ts'
import type { LogSize } from '../log/log-protocol.ts'
import type { TransportMeasure } from '../transport/events.ts'
import type { TransferCounts } from '../protocol/measured.ts'

/** Collects measurements between two reports to the api thread. */
export class Meter {
  readonly #transport: (() => TransportMeasure) | null
  #syncMs: number[] = []
  #groupWrites: number[] = []
  #log: LogSize | null = null
  #takenMs = Number.NEGATIVE_INFINITY
  #logHealth = { scrubs: 0, damages: 0, repairs: 0 }

  /** @param transport returns the measurements of the links */
  constructor(transport: (() => TransportMeasure) | null) {
    this.#transport = transport
  }

  synced(syncMs: number, writes: number, log: LogSize | null): void {
    if (log !== null) this.#log = log
    if (this.#syncMs.length >= samplesMax) return
    this.#syncMs.push(syncMs)
    this.#groupWrites.push(writes)
  }

  scrubbed(): void {
    this.#logHealth.scrubs++
  }

  damaged(): void {
    this.#logHealth.damages++
  }

  repaired(): void {
    this.#logHealth.repairs++
  }

  /** Returns whether the measurements were not taken for about a second. */
  isDue(nowMs: number): boolean {
    return nowMs - this.#takenMs >= periodMs
  }

  /**
   * Returns the measurements. Those of group commits are since the last call; `log` is the latest
   * value, and `logHealth` counts since the start.
   */
  take(transfers: TransferCounts, nowMs: number): Measured {
    this.#takenMs = nowMs
    const [syncMs, groupWrites] = [this.#syncMs, this.#groupWrites]
    this.#syncMs = []
    this.#groupWrites = []
    return {
      syncMs,
      groupWrites,
      log: this.#log,
      transport: this.#transport?.() ?? null,
      transfers: transfers,
      logHealth: { ...this.#logHealth },
    }
  }
}

/** Less than the second between the statuses of an idle member, which may be a little early. */
const periodMs = 900
const samplesMax = 4096
