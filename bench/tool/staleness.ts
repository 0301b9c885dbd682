/** Times at which versions of one object were acknowledged, numbered from 0. */
export class Acknowledged {
  readonly #atMs: number[] = []

  get count(): number {
    return this.#atMs.length
  }

  /** Records when the next version was acknowledged. */
  add(atMs: number): void {
    this.#atMs.push(atMs)
  }

  /**
   * Returns a lower bound of the staleness of a read: for how long, when the read began, a later
   * version than the returned one had been acknowledged. Writer and reader share one clock.
   *
   * @param version that was read
   * @param askedMs start of the read
   * @returns ms; 0: not stale
   */
  stalenessMs(version: number, askedMs: number): number {
    const replacedMs = this.#atMs[version + 1]
    return replacedMs === undefined ? 0 : Math.max(0, askedMs - replacedMs)
  }
}
