import type { Key } from '../store/key.ts'
import type { Revision } from '../store/revision.ts'

/**
 * Records which changes each slice of a list already contains: the slices are read in different
 * turns, each at the newest revision of its turn. Bounded by the number of slices.
 */
export class ListedSlices {
  readonly #slices: { readonly upTo: Key | null; readonly revision: Revision }[] = []

  /** @param upTo the last key of the slice; null: it is the last slice */
  add(upTo: Key | null, revision: Revision): void {
    this.#slices.push({ upTo, revision })
  }

  /** Whether a change came after all slices were read. */
  isOver(change: Revision): boolean {
    return change > (this.#slices.at(-1)?.revision ?? 0)
  }

  /** Whether the slice with the key was read after a change of it. */
  contains(key: Key, change: Revision): boolean {
    let low = 0
    let high = this.#slices.length - 1
    // Finds the first slice that reaches to the key.
    while (low < high) {
      const middle = (low + high) >>> 1
      const { upTo } = this.#slices[middle] ?? { upTo: null }
      if (upTo === null || upTo >= key) high = middle
      else low = middle + 1
    }
    const slice = this.#slices[low]
    return slice !== undefined && change <= slice.revision
  }
}
