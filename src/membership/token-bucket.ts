import type { Clock } from '../../base/clock.ts'

/** A token bucket: a burst of `most`, and one more token every `eachMs`. */
export class TokenBucket {
  readonly #most: number
  readonly #eachMs: number
  readonly #clock: Pick<Clock, 'monotonicMs'>
  #left: number
  #atMs: number

  constructor(of: {
    readonly most: number
    readonly eachMs: number
    readonly clock: Pick<Clock, 'monotonicMs'>
  }) {
    this.#most = of.most
    this.#eachMs = of.eachMs
    this.#clock = of.clock
    this.#left = of.most
    this.#atMs = of.clock.monotonicMs()
  }

  /** Returns whether there was a token left. */
  take(): boolean {
    const nowMs = this.#clock.monotonicMs()
    this.#left = Math.min(this.#most, this.#left + (nowMs - this.#atMs) / this.#eachMs)
    this.#atMs = nowMs
    if (this.#left < 1) return false
    this.#left--
    return true
  }

  giveBack(): void {
    this.#left = Math.min(this.#most, this.#left + 1)
  }
}
