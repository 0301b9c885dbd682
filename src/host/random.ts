import { randomBytes } from 'node:crypto'
import { assert } from '../../base/assert.ts'
import type { Random } from '../../base/random.ts'

/**
 * Bytes drawn from the system at once: a system call for each UID would cost more than all other
 * work for the UID.
 */
const poolBytes = 4096

/** Random numbers of the system, suitable for secrets. */
export class RealRandom implements Random {
  #pool: Buffer = Buffer.alloc(0)
  #at = 0

  below(bound: number): number {
    assert(Number.isInteger(bound) && bound >= 1 && bound <= 2 ** 32, 'bound is from 1 to 2^32')
    // Reject the tail that would favour small results.
    const limit = 2 ** 32 - (2 ** 32 % bound)
    for (;;) {
      const value = this.#take(4).readUInt32LE(0)
      if (value < limit) return value % bound
    }
  }

  bytes(length: number): Uint8Array {
    if (length > poolBytes / 4) return new Uint8Array(randomBytes(length))
    // A copy, so that no secret shares its memory with the next one.
    return Uint8Array.from(this.#take(length))
  }

  #take(length: number): Buffer {
    if (this.#at + length > this.#pool.length) {
      this.#pool = randomBytes(poolBytes)
      this.#at = 0
    }
    const taken = this.#pool.subarray(this.#at, this.#at + length)
    this.#at += length
    return taken
  }
}
