import type { Clock } from '../../base/clock.ts'
import type { LogLimits } from './limits.ts'
import { scrubStart } from './scrub.ts'
import type { ScrubPlace } from './scrub.ts'
import type { Wal } from './wal.ts'

export type LogScrubOptions = {
  readonly wal: Pick<Wal, 'scrub' | 'rewrite'>
  readonly clock: Clock
  readonly limits: LogLimits
  /** Runs one turn, unless the log is closed or failed. */
  readonly guard: (turn: () => void) => void
  /** Called with one line about damage that was found. */
  readonly found: (line: string) => void
  /** Called with one line once that damage is repaired. */
  readonly repaired: (line: string) => void
  /** Called when a pass is complete. */
  readonly passed: () => void
}

/**
 * Reads the log repeatedly and slowly, and rewrites it if a part is damaged. Data in the page cache
 * is not read from the disk, so corruption of a file is found only once its pages were evicted.
 */
export class LogScrub {
  readonly #options: LogScrubOptions
  /** The damage that was found and is not repaired yet; null: none. */
  #finding: string | null = null

  constructor(options: LogScrubOptions) {
    this.#options = options
  }

  start(): void {
    this.#after(this.#options.limits.scrubFirstMs, scrubStart)
  }

  /**
   * Rewrites the log if damage was found and the rest is readable and small enough. Called after
   * each compaction, even one that had nothing to remove.
   */
  repair(): void {
    const { wal, limits, repaired } = this.#options
    if (this.#finding === null || !wal.rewrite(limits.rewriteBytesMax)) return
    const line = `repaired: ${this.#finding}; the log was rewritten`
    this.#finding = null
    repaired(line)
  }

  #after(delayMs: number, place: ScrubPlace): void {
    const { clock, guard } = this.#options
    clock.after(delayMs, () => guard(() => this.#turn(place)))
  }

  #turn(place: ScrubPlace): void {
    const { wal, limits, found, passed } = this.#options
    const { next, finding } = wal.scrub(place, limits.scrubTurnBytes)
    if (finding !== null && this.#finding === null) {
      this.#finding = finding
      found(finding)
    }
    if (next === null) passed()
    this.#after(next === null ? limits.scrubPeriodMs : limits.scrubPauseMs, next ?? scrubStart)
  }
}
