import { assert } from '../../../base/assert.ts'

/**
 * Limits the bytes that responses buffer until their length is known, shared by all responses in
 * progress.
 */
export class ByteBudget {
  readonly #bytesMax: number
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  /** Bytes acquired by all holders together. */
  get bytes(): number {
    return this.#bytes
  }

  /** @returns false, without acquiring any, when the budget would be exceeded */
  acquire(bytes: number): boolean {
    if (this.#bytes + bytes > this.#bytesMax) return false
    this.#bytes += bytes
    return true
  }

  release(bytes: number): void {
    assert(bytes <= this.#bytes, 'only acquired bytes are released')
    this.#bytes -= bytes
  }
}
