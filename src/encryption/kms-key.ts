import type { Clock, Timer } from '../../base/clock.ts'
import { beforeDeadline } from '../../base/deadline.ts'
import type { Random } from '../../base/random.ts'
import { serviceUnavailable } from '../api/errors/standard-errors.ts'
import { SealedObjectError } from '../registry/shared/sealed-object-error.ts'
import { AesGcmCipher } from './aes-gcm-cipher.ts'
import type { Cipher } from './cipher.ts'
import type { KmsService } from './kms-client.ts'
import { KmsError, decodeWrapped, encodeWrapped } from './kms-messages.ts'
import type { Sealing, SealingKey } from './sealing-key.ts'

export type KmsKeyOptions = {
  readonly name: string
  readonly service: KmsService
  readonly clock: Clock
  readonly random: Random
  /** Called when the service becomes unhealthy or healthy again; null: it is healthy. */
  readonly onHealth: (failure: string | null) => void
}

/** Interval of asking for the health of the service, and for the key that it uses. */
const statusMs = 10_000
/** Data keys that are kept. When full: the one that was opened first is opened again on demand. */
const dataKeysMax = 1000
/** Calls of Decrypt at a time. More: the object waits for another one. */
const openingsMax = 32
/** Time from a call of Decrypt that failed until the service is asked for the same key again. */
const failedMs = 500
/** A data key that opened nothing is asked for again, as the service may have erred. */
const distrustMs = 10_000
const dataKeyBytes = 32

/**
 * A key that a key management service keeps. Objects are encrypted with a data key of this process,
 * which the service encrypted once; it is replaced when the service uses another key. The data keys
 * of other members and earlier processes are opened by the service once each.
 */
export class KmsKey implements SealingKey {
  readonly provider = 'kms'
  readonly name: string
  readonly #options: KmsKeyOptions
  readonly #ciphers = new Map<string, { readonly cipher: Cipher; readonly atMs: number }>()
  readonly #openings = new Map<string, Promise<void>>()
  #current: (Sealing & { readonly keyId: string }) | null = null
  #making: Promise<Sealing> | null = null
  /** As the service reported it last. */
  #keyId: string | null = null
  #failure: string | null = null
  #timer: Timer | null = null
  #isAsking = false

  constructor(options: KmsKeyOptions) {
    this.name = options.name
    this.#options = options
  }

  /** null: the service is healthy, as far as is known. */
  get failure(): string | null {
    return this.#failure
  }

  start(): void {
    const { clock } = this.#options
    void this.look()
    this.#timer = clock.every(statusMs, () => void this.look())
  }

  close(): void {
    this.#timer?.cancel()
    this.#options.service.close()
  }

  /** Asks for the health of the service. Never rejects. */
  async look(): Promise<void> {
    if (this.#isAsking) return
    this.#isAsking = true
    try {
      const { keyId } = await this.#options.service.status()
      this.#keyId = keyId
      this.#report(null)
    } catch (cause) {
      this.#report(wordsOf(cause))
    } finally {
      this.#isAsking = false
    }
  }

  sealing(deadlineMs: number): Sealing | Promise<Sealing> {
    const current = this.#current
    // While the service fails, the present data key remains as safe as it was.
    const isUsable = current?.keyId === this.#keyId || this.#failure !== null
    if (current !== null && isUsable) return current
    this.#making ??= this.#make().finally(() => {
      this.#making = null
    })
    const { clock } = this.#options
    return beforeDeadline(this.#making, { clock, deadlineMs, late: () => this.#unavailable('no response') })
  }

  cipherOf(wrapped: Uint8Array): Cipher {
    const cipher = this.cipherIfKnown(wrapped)
    if (cipher !== null) return cipher
    const state = this.#failure === null ? 'is being opened' : `cannot be opened now (${this.#failure})`
    const words = `the kms key ${JSON.stringify(this.name)} ${state}: try again`
    throw new SealedObjectError(words, this.prepare(wrapped))
  }

  cipherIfKnown(wrapped: Uint8Array): Cipher | null {
    return this.#ciphers.get(idOf(wrapped))?.cipher ?? null
  }

  failedToOpen(wrapped: Uint8Array): void {
    const id = idOf(wrapped)
    const known = this.#ciphers.get(id)
    const { clock } = this.#options
    if (known !== undefined && clock.monotonicMs() - known.atMs >= distrustMs) this.#ciphers.delete(id)
  }

  prepare(wrapped: Uint8Array): Promise<void> | null {
    const id = idOf(wrapped)
    if (this.#ciphers.has(id)) return null
    const [other] = this.#openings.values()
    const known = this.#openings.get(id) ?? (this.#openings.size < openingsMax ? undefined : other)
    if (known !== undefined) return known
    const opening = this.#open(wrapped, id).finally(() => void this.#openings.delete(id))
    this.#openings.set(id, opening)
    return opening
  }

  isCurrent(wrapped: Uint8Array): boolean {
    if (this.#keyId === null) return true
    try {
      return decodeWrapped(wrapped).keyId === this.#keyId
    } catch (cause) {
      if (!(cause instanceof KmsError)) throw cause
      return false
    }
  }

  /** Never rejects: the next attempt to read sees whether it succeeded. */
  async #open(wrapped: Uint8Array, id: string): Promise<void> {
    const { service, random, clock } = this.#options
    try {
      const key = await service.decrypt(decodeWrapped(wrapped))
      if (key.byteLength !== dataKeyBytes) throw new KmsError('malformed', 'the data key has another length')
      this.#keep(id, new AesGcmCipher(key, random))
      if (this.#failure !== null) void this.look()
    } catch (cause) {
      this.#report(wordsOf(cause))
      await new Promise<void>((resolve) => void clock.after(failedMs, () => resolve()))
    }
  }

  async #make(): Promise<Sealing> {
    const { service, random } = this.#options
    const key = random.bytes(dataKeyBytes)
    try {
      const encrypted = await service.encrypt(key)
      const wrapped = encodeWrapped(encrypted)
      // Objects under a data key that the service cannot return would be lost.
      const returned = await service.decrypt(decodeWrapped(wrapped))
      if (Buffer.compare(returned, key) !== 0)
        throw new KmsError('malformed', 'Decrypt returned another data key than Encrypt was given')
      const cipher = new AesGcmCipher(key, random)
      this.#keep(idOf(wrapped), cipher)
      this.#current = { cipher, wrapped, keyId: encrypted.keyId }
      this.#keyId = encrypted.keyId
      return this.#current
    } catch (cause) {
      this.#report(wordsOf(cause))
      // The present data key remains as safe as it was.
      if (this.#current !== null) return this.#current
      throw this.#unavailable(wordsOf(cause), cause)
    }
  }

  #keep(id: string, cipher: Cipher): void {
    this.#ciphers.set(id, { cipher, atMs: this.#options.clock.monotonicMs() })
    const [oldest] = this.#ciphers.keys()
    if (this.#ciphers.size > dataKeysMax && oldest !== undefined) this.#ciphers.delete(oldest)
  }

  #report(failure: string | null): void {
    if (failure === this.#failure) return
    this.#failure = failure
    this.#options.onHealth(failure)
  }

  #unavailable(why: string, cause?: unknown): Error {
    const words = `the kms key ${JSON.stringify(this.name)} cannot encrypt: ${why}`
    const error = serviceUnavailable(words, { retryAfterSeconds: 1 })
    if (cause !== undefined) error.cause = cause
    return error
  }
}

function idOf(wrapped: Uint8Array): string {
  return Buffer.from(wrapped.buffer, wrapped.byteOffset, wrapped.byteLength).toString('latin1')
}

function wordsOf(cause: unknown): string {
  if (cause instanceof KmsError) return cause.message
  throw cause
}
