import type { Clock } from '../../base/clock.ts'
import { limits } from '../config/limits.ts'

/**
 * Credentials in files, which another program renews. They are read again when they are needed, at
 * most once in `outwardCredentialFileMs`.
 */
export class RenewedCredentials<T> {
  readonly #clock: Clock
  readonly #read: (current: T) => Promise<T>
  #current: T
  #readMs: number
  #reading: Promise<void> | null = null

  /**
   * @param current the credentials that the files have now
   * @param read returns the changed credentials, or the current ones; must not reject
   */
  constructor(clock: Clock, current: T, read: (current: T) => Promise<T>) {
    this.#clock = clock
    this.#read = read
    this.#current = current
    this.#readMs = clock.monotonicMs()
  }

  /** Returns the credentials to use. Never rejects. */
  async get(): Promise<T> {
    const nowMs = this.#clock.monotonicMs()
    if (nowMs - this.#readMs >= limits.outwardCredentialFileMs) {
      this.#reading ??= this.#readAgain(nowMs).finally(() => {
        this.#reading = null
      })
      await this.#reading
    }
    return this.#current
  }

  async #readAgain(nowMs: number): Promise<void> {
    this.#readMs = nowMs
    this.#current = await this.#read(this.#current)
  }
}
