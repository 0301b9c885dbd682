import type { Clock, Timer } from '../../base/clock.ts'
import type { Key } from '../store/key.ts'
import { SealedObjectError } from './shared/sealed-object-error.ts'

const retryMsMin = 1000
const retryMsMax = 60_000

/**
 * The keys of objects that an informer cannot read, because this member cannot decrypt them. The
 * first retry comes after 1 s; the pause then doubles up to a minute, and ends when the encryption
 * keys of this member change. As bounded as the collection.
 */
export class SealedRetries {
  readonly #clock: Clock
  readonly #again: (keys: readonly Key[]) => void
  readonly #keys = new Set<Key>()
  #timer: Timer | null = null
  #waitMs = retryMsMin

  constructor(clock: Clock, again: (keys: readonly Key[]) => void) {
    this.#clock = clock
    this.#again = again
  }

  get size(): number {
    return this.#keys.size
  }

  has(key: Key): boolean {
    return this.#keys.has(key)
  }

  keys(): Iterable<Key> {
    return this.#keys
  }

  /** Returns what `read` returns. null: the object cannot be decrypted; it is read again later. */
  attempt<T>(key: Key, read: () => T): T | null {
    try {
      const value = read()
      this.#keys.delete(key)
      return value
    } catch (cause) {
      if (!(cause instanceof SealedObjectError)) throw cause
      this.#keys.add(key)
      this.#schedule()
      return null
    }
  }

  forget(key: Key): void {
    this.#keys.delete(key)
  }

  /**
   * Forgets all keys but these: the objects of the other keys were deleted, without an event that
   * the informer has seen.
   */
  forgetOthers(present: ReadonlySet<Key>): void {
    for (const key of this.#keys) if (!present.has(key)) this.#keys.delete(key)
  }

  /** Reads the objects again in the next turn: they may be readable now. */
  wake(): void {
    if (this.#keys.size === 0) return
    this.#timer?.cancel()
    this.#timer = null
    this.#waitMs = 0
    this.#schedule()
  }

  close(): void {
    this.#timer?.cancel()
    this.#keys.clear()
  }

  #schedule(): void {
    this.#timer ??= this.#clock.after(this.#waitMs, () => {
      this.#timer = null
      this.#waitMs = Math.min(retryMsMax, Math.max(retryMsMin, 2 * this.#waitMs))
      const keys = [...this.#keys]
      this.#again(keys)
      if (this.#keys.size === 0) this.#waitMs = retryMsMin
    })
  }
}
