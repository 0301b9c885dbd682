import { assert } from './assert.ts'

/**
 * A source of random numbers. Only `src/host` implements it with the random numbers of the system.
 */
export interface Random {
  /** Returns an integer from 0 to `bound - 1`, uniformly distributed. @param bound 1 to 2^32 */
  below(bound: number): number
  /** Returns `length` random bytes, which are unpredictable unless the generator has a seed. */
  bytes(length: number): Uint8Array
}

/**
 * Xoshiro128** from a 32-bit seed: small, fast, good enough for schedules, useless for secrets.
 * A seed in a bug report must keep its meaning, so a test checks the first values of some seeds.
 *
 * @source Blackman and Vigna, "Scrambled linear pseudorandom number generators"; splitmix32 seeds
 * the state.
 */
export class SeededRandom implements Random {
  #a: number
  #b: number
  #c: number
  #d: number

  constructor(seed: number) {
    let state = seed >>> 0
    const mix = (): number => {
      state = (state + 0x9e3779b9) >>> 0
      let z = state
      z = Math.imul(z ^ (z >>> 16), 0x21f0aaad)
      z = Math.imul(z ^ (z >>> 15), 0x735a2d97)
      return (z ^ (z >>> 15)) >>> 0
    }
    this.#a = mix()
    this.#b = mix()
    this.#c = mix()
    this.#d = mix()
  }

  /** Returns the next 32 bits. */
  next(): number {
    const x = Math.imul(this.#b, 5)
    const result = Math.imul((x << 7) | (x >>> 25), 9) >>> 0
    const t = this.#b << 9
    this.#c ^= this.#a
    this.#d ^= this.#b
    this.#b ^= this.#c
    this.#a ^= this.#d
    this.#c ^= t
    this.#d = (this.#d << 11) | (this.#d >>> 21)
    return result
  }

  below(bound: number): number {
    assert(Number.isInteger(bound) && bound >= 1 && bound <= 2 ** 32, 'bound is from 1 to 2^32')
    // Reject the tail that would favour small results.
    const limit = 2 ** 32 - (2 ** 32 % bound)
    let value = this.next()
    while (value >= limit) value = this.next()
    return value % bound
  }

  bytes(length: number): Uint8Array {
    const bytes = new Uint8Array(length)
    for (let at = 0; at < length; at++) bytes[at] = this.next() & 0xff
    return bytes
  }

  /** Returns true with this probability. @param probability 0 to 1 */
  chance(probability: number): boolean {
    return this.next() < probability * 2 ** 32
  }

  /** Returns one of `choices`, uniformly distributed. @param choices not empty */
  pick<T>(choices: readonly T[]): T {
    return choices[this.below(choices.length)] as T
  }

  /**
   * Returns another generator whose stream does not overlap this one in practice, for a subsystem.
   */
  fork(): SeededRandom {
    return new SeededRandom(this.next())
  }
}
