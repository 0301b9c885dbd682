import { assert } from '../../../base/assert.ts'

/** Room for what answers keep until they know how long they are: one for all that are made at once. */
export class ByteBudget {
  readonly #bytesMax: number
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** Taken by all together. */
  get bytes(): number {
    return this.#bytes
  }

  /** @returns false when there is no room for so many more; then none are taken */
  acquire(bytes: number): boolean {
    if (this.#bytes + bytes > this.#bytesMax) return false
    this.#bytes += bytes
    return true
  }

  release(bytes: number): void {
    assert(bytes <= this.#bytes, 'nobody gives back more than was taken')
    this.#bytes -= bytes
  }
}
