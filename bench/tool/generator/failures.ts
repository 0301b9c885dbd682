import { benchLimits } from '../limits.ts'

export type FailureCount = { readonly words: string; readonly count: number }

/** Counts failures by kind. Beyond a limit of kinds, new ones count as `others`. */
export class FailureCounts {
  readonly #counts = new Map<string, number>()
  #total = 0

  get total(): number {
    return this.#total
  }

  add(words: string, count = 1): void {
    this.#total += count
    const kind = words.slice(0, benchLimits.failureWordsMax)
    const known = this.#counts.get(kind)
    const isFull = known === undefined && this.#counts.size >= benchLimits.failureKindsMax
    const key = isFull ? 'others' : kind
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + count)
  }

  list(): readonly FailureCount[] {
    return [...this.#counts].map(([words, count]) => ({ words, count }))
  }
}

/** Returns a text such as `7 x HTTP 429, 1 x the connection was closed`. */
export function failuresText(failures: readonly FailureCount[]): string {
  return failures.map(({ words, count }) => `${count} x ${words}`).join(', ')
}
