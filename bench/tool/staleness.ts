/** When versions of one object were acknowledged, counted from 0, on one clock. */
export class Acknowledged {
  readonly #atMs: number[] = []

  get count(): number {
    return this.#atMs.length
  }

  /** The next one was. */
  add(atMs: number): void {
    this.#atMs.push(atMs)
  }

  /**
   * How old at least what a read told already was when that was asked: the time since a later version than the one it told had
   * been acknowledged. Nothing is assumed of clocks but that writer and reader share one.
   *
   * @param version that was read @param askedMs when the read was begun @returns ms; 0: not stale
   */
  stalenessMs(version: number, askedMs: number): number {
    const replacedMs = this.#atMs[version + 1]
    return replacedMs === undefined ? 0 : Math.max(0, askedMs - replacedMs)
  }
}
