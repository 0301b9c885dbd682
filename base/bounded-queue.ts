import { assert } from './assert.ts'

/**
 * A FIFO queue with a capacity, in a ring buffer that is allocated once. A full queue accepts no
 * items.
 */
export class BoundedQueue<T> {
  readonly #ring: (T | undefined)[]
  #head = 0
  #size = 0

  /** @param capacity items, at least 1 */
  constructor(capacity: number) {
    assert(Number.isInteger(capacity) && capacity >= 1, 'the capacity of a queue is at least 1')
    this.#ring = new Array<T | undefined>(capacity)
  }

  get size(): number {
    return this.#size
  }

  get capacity(): number {
    return this.#ring.length
  }

  get full(): boolean {
    return this.#size === this.#ring.length
  }

  /** @returns false when full; the item was not taken */
  offer(item: T): boolean {
    if (this.full) return false
    this.#ring[(this.#head + this.#size) % this.#ring.length] = item
    this.#size++
    return true
  }

  /** Removes and returns the oldest item; undefined when empty. */
  poll(): T | undefined {
    if (this.#size === 0) return undefined
    const item = this.#ring[this.#head]
    this.#ring[this.#head] = undefined
    this.#head = (this.#head + 1) % this.#ring.length
    this.#size--
    return item
  }

  peek(): T | undefined {
    return this.#size === 0 ? undefined : this.#ring[this.#head]
  }

  clear(): void {
    this.#ring.fill(undefined)
    this.#head = 0
    this.#size = 0
  }
}
