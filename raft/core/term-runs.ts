import { assert } from '../../base/assert.ts'
import type { LogIndex, Term } from './types.ts'

type Run = { readonly first: LogIndex; readonly term: Term }

/**
 * The term of every entry of the log, as runs of equal terms: terms rarely change, so the runs of a
 * whole log are small, and the core need not read terms from disk.
 */
export class TermRuns {
  /** Ascending in both fields. */
  readonly #runs: Run[]

  constructor(runs: readonly Run[]) {
    for (let at = 1; at < runs.length; at++) {
      const [before, after] = [runs[at - 1], runs[at]]
      assert(
        before !== undefined && after !== undefined && before.first < after.first,
        'runs ascend by index',
      )
      assert(before.term < after.term, 'runs ascend by term')
    }
    this.#runs = [...runs]
  }

  /** @returns null when `index` lies before every run */
  termAt(index: LogIndex): Term | null {
    const at = this.#runAt(index)
    return at < 0 ? null : (this.#runs[at]?.term ?? null)
  }

  /**
   * Returns the last index at or below `index` with a term of at most `term`; null: no such index.
   */
  lastAtMost(index: LogIndex, term: Term): { readonly index: LogIndex; readonly term: Term } | null {
    let last = index
    for (let at = this.#runAt(index); at >= 0; at--) {
      const run = this.#runs[at]
      if (run === undefined) break
      if (run.term <= term) return { index: last, term: run.term }
      last = (run.first - 1) as LogIndex
    }
    return null
  }

  append(index: LogIndex, term: Term): void {
    const last = this.#runs.at(-1)
    if (last?.term === term) return
    assert(last === undefined || last.term < term, 'terms never go back along the log')
    assert(last === undefined || last.first < index, 'runs grow at the end')
    this.#runs.push({ first: index, term })
  }

  truncateFrom(index: LogIndex): void {
    while ((this.#runs.at(-1)?.first ?? -1) >= index) this.#runs.pop()
  }

  /**
   * Removes everything at and below `index`.
   *
   * @param last the last index of the log
   */
  compact(index: LogIndex, last: LogIndex): void {
    if (index >= last) {
      this.#runs.length = 0
      return
    }
    const at = this.#runAt((index + 1) as LogIndex)
    const run = this.#runs[at]
    if (run === undefined) return
    this.#runs.splice(0, at + 1, { first: Math.max(run.first, index + 1) as LogIndex, term: run.term })
  }

  #runAt(index: LogIndex): number {
    // Nearly every lookup is at the end of the log.
    let low = 0
    let high = this.#runs.length - 1
    if (high >= 0 && (this.#runs[high]?.first ?? 0) <= index) return high
    while (low <= high) {
      const middle = (low + high) >> 1
      if ((this.#runs[middle]?.first ?? 0) <= index) low = middle + 1
      else high = middle - 1
    }
    return high
  }
}
