import type { Clock } from '../../base/clock.ts'
import { limits } from '../config/limits.ts'
import { readSmallFile } from './small-file.ts'

/**
 * A bearer token in a file, which another program renews. While the file is missing or unusable the
 * last token stays in use.
 *
 * @source client-go `transport/token_source.go`
 */
export class TokenFile {
  readonly #path: string
  readonly #clock: Clock
  #header: string
  #readMs: number
  #reading: Promise<void> | null = null

  /** @param header value of the `Authorization` header with the token that the file has now */
  constructor(path: string, header: string, clock: Clock) {
    this.#path = path
    this.#header = header
    this.#clock = clock
    this.#readMs = clock.monotonicMs()
  }

  /** Returns the value of the `Authorization` header. Never rejects. */
  async header(): Promise<string> {
    const nowMs = this.#clock.monotonicMs()
    if (nowMs - this.#readMs >= limits.outwardCredentialFileMs) {
      this.#reading ??= this.#read(nowMs).finally(() => {
        this.#reading = null
      })
      await this.#reading
    }
    return this.#header
  }

  async #read(nowMs: number): Promise<void> {
    this.#readMs = nowMs
    const token = await tokenIn(this.#path)
    if (token !== null) this.#header = `Bearer ${token}`
  }
}

/** Returns null unless the file holds a token that fits a header. */
async function tokenIn(path: string): Promise<string | null> {
  const text = await readSmallFile(path, limits.outwardTokenBytesMax)
  const token = text?.trim() ?? ''
  return /^[\x21-\x7e]+$/.test(token) ? token : null
}
