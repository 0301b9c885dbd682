import type { Clock } from '../../../base/clock.ts'
import type { Revision } from '../revision.ts'

/** When this member applied its latest revisions. Bounded: older ones are forgotten. */
export class ApplyTimes {
  readonly #clock: Clock
  /** Rings of the newest revision after each apply, ascending, and of the time of that apply. */
  readonly #revisions = new Float64Array(appliesKept)
  readonly #ms = new Float64Array(appliesKept)
  #count = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Called after entries were applied. An unchanged revision is not noted. */
  applied(newest: Revision): void {
    const last = this.#count === 0 ? null : this.#revisions[(this.#count - 1) % appliesKept]
    if (last === newest) return
    // An installed snapshot of another incarnation can go back: earlier times mean nothing then.
    if (last !== null && last !== undefined && newest < last) this.#count = 0
    this.#revisions[this.#count % appliesKept] = newest
    this.#ms[this.#count % appliesKept] = this.#clock.monotonicMs()
    this.#count++
  }

  /**
   * Returns when a revision was applied, on the monotonic clock in ms; null: not since the start,
   * or forgotten.
   */
  of(revision: Revision): number | null {
    let low = Math.max(0, this.#count - appliesKept)
    let high = this.#count
    const oldest = low
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#revisions[middle % appliesKept] ?? 0) < revision) low = middle + 1
      else high = middle
    }
    // The oldest one may also stand for revisions before it.
    if (low === this.#count || low === oldest) return null
    return this.#ms[low % appliesKept] ?? null
  }
}

/** At a thousand applies per second these are four seconds. */
const appliesKept = 4096
