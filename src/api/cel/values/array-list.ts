import type { ListIdentity } from '../types.ts'
import type { CelValue } from './value.ts'
import { CelList } from './value.ts'

/**
 * A list that an expression built. Several lists may be beginnings of one array. An append to the
 * longest of them extends the array in place, so that a loop appends in constant time.
 */
export class ArrayList extends CelList {
  readonly size: number
  readonly identity: ListIdentity | undefined
  readonly #items: CelValue[]

  /** @param items belong to the list from now on */
  constructor(items: CelValue[], identity?: ListIdentity) {
    super()
    this.#items = items
    this.size = items.length
    this.identity = identity
  }

  at(index: number): CelValue {
    return this.#items[index] ?? null
  }

  /** @returns undefined if another list was appended to this one already */
  append(values: readonly CelValue[]): ArrayList | undefined {
    if (this.#items.length !== this.size) return undefined
    for (const value of values) this.#items.push(value)
    return new ArrayList(this.#items, this.identity)
  }
}
