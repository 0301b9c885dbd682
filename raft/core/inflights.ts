import { assert } from '../../base/assert.ts'
import { noIndex } from './types.ts'
import type { LogIndex } from './types.ts'

/**
 * Appends in flight to one follower, oldest first: a ring limited in messages and bytes, allocated
 * once.
 *
 *     ┌────┬────┬────┬────┬────┬────┐
 *     │    │ 12 │ 15 │ 20 │    │    │   last index of each message; an acknowledgement of 15
 *     └────┴────┴────┴────┴────┴────┘   frees the first two
 *            ▲ oldest       ▲ next
 */
export class Inflights {
  readonly #last: LogIndex[]
  readonly #sizes: number[]
  readonly #bytesMax: number
  #oldest = 0
  #count = 0
  #bytes = 0

  constructor(messagesMax: number, bytesMax: number) {
    this.#last = new Array<LogIndex>(messagesMax).fill(noIndex)
    this.#sizes = new Array<number>(messagesMax).fill(0)
    this.#bytesMax = bytesMax
  }

  get count(): number {
    return this.#count
  }

  get bytes(): number {
    return this.#bytes
  }

  /**
   * Returns whether no further message may be sent. A window with a free byte accepts a whole
   * message.
   */
  get full(): boolean {
    return this.#count === this.#last.length || this.#bytes >= this.#bytesMax
  }

  add(last: LogIndex, bytes: number): void {
    assert(!this.full, 'the window has a free place')
    const at = (this.#oldest + this.#count) % this.#last.length
    this.#last[at] = last
    this.#sizes[at] = bytes
    this.#count++
    this.#bytes += bytes
  }

  /** Frees the appends that the follower has acknowledged, up to `index`. */
  freeTo(index: LogIndex): void {
    while (this.#count > 0 && (this.#last[this.#oldest] ?? Infinity) <= index) {
      this.#bytes -= this.#sizes[this.#oldest] ?? 0
      this.#oldest = (this.#oldest + 1) % this.#last.length
      this.#count--
    }
  }

  clear(): void {
    this.#oldest = 0
    this.#count = 0
    this.#bytes = 0
  }
}
