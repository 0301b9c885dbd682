/**
 * Samples of the state's position over time. The state does not record the age of a revision; a
 * sample that is a period old proves that everything up to its revision is at least that old.
 */
export class RevisionTimeline<Sample extends { readonly atMs: number }> {
  readonly #periodMs: () => number
  #samples: Sample[] = []

  constructor(periodMs: () => number) {
    this.#periodMs = periodMs
  }

  /**
   * Adds a sample unless the last one is recent. Every property of `now` is at least as high as in
   * the call before.
   * @returns the newest sample that is at least a period old; null: there is none
   */
  sample(now: Sample): Sample | null {
    const periodMs = this.#periodMs()
    const last = this.#samples[this.#samples.length - 1]
    if (last === undefined || now.atMs - last.atMs >= periodMs / samplesPerPeriod) this.#samples.push(now)
    let young = this.#samples.findIndex((sample) => now.atMs - sample.atMs < periodMs)
    if (young === -1) young = this.#samples.length
    if (young === 0) return null
    // Older samples are no longer needed.
    this.#samples = this.#samples.slice(young - 1)
    return this.#samples[0] ?? null
  }

  clear(): void {
    this.#samples = []
  }
}

/** Number of samples per period; one more is kept. This is the resolution of the timeline. */
const samplesPerPeriod = 100
