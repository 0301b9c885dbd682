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
  /** Called when the failure of the service changes; null: it is healthy again. */
  readonly onHealth: (failure: string | null) => void
}

/** Interval of requesting the health of the service, and the ID of the key that it uses. */
const statusMs = 10_000
/**
 * How long a data key is used for encryption after the service was last healthy with the key ID
 * that encrypted the data key.
 *
 * @source apiserver `pkg/server/options/encryptionconfig/config.go`,
 * kmsv2PluginWriteDEKSourceMaxTTL
 */
const usableMs = 180_000
/** Maximum number of cached data keys. When full, the oldest is evicted. */
const dataKeysMax = 1000
/** Maximum number of concurrent calls of Decrypt. More callers wait for one of these calls. */
const openingsMax = 32
/** Time from a call of Decrypt that failed until the next one for the same data key. */
const failedMs = 500
/** Age from which a data key that fails to decrypt is requested again: it may have been wrong. */
const distrustMs = 10_000
const dataKeyBytes = 32

/**
 * A key that a key management service keeps. Objects are encrypted with a data key of this process,
 * which the service encrypted once. The data key is replaced when the service uses another key, and
 * expires when the service is unhealthy for long. The service decrypts the data keys of other
 * members and earlier processes on demand, and they are cached.
 */
export class KmsKey implements SealingKey {
  readonly provider = 'kms'
  readonly name: string
  readonly #options: KmsKeyOptions
  readonly #ciphers = new Map<string, { readonly cipher: Cipher; readonly atMs: number }>()
  readonly #openings = new Map<string, Promise<void>>()
  #current: (Sealing & { readonly keyId: string }) | null = null
  #making: Promise<Sealing> | null = null
  /** The key ID that the service reported last. */
  #keyId: string | null = null
  #failure: string | null = null
  /** Why Status failed last, and why no data key could be made. null: that succeeded. */
  #statusFailure: string | null = null
  #makingFailure: string | null = null
  /** Start of the last call that showed the service to be healthy. */
  #healthyMs: number
  /** Start of the last call in which the service confirmed the key ID of the present data key. */
  #confirmedMs = 0
  #timer: Timer | null = null
  #checking: Promise<void> | null = null

  constructor(options: KmsKeyOptions) {
    this.name = options.name
    this.#options = options
    this.#healthyMs = options.clock.monotonicMs()
  }

  /** Why the last call failed. null: it did not. */
  get failure(): string | null {
    return this.#failure
  }

  /** Why the service is not healthy, or encrypts no data key. null: it is, as far as is known. */
  get unhealthy(): string | null {
    return this.#statusFailure ?? this.#makingFailure
  }

  /** Time since the service was healthy, or since the start. */
  get healthyAgeMs(): number {
    return this.#options.clock.monotonicMs() - this.#healthyMs
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

  /** Requests the health of the service. Never rejects. */
  look(): Promise<void> {
    this.#checking ??= this.#check().finally(() => {
      this.#checking = null
    })
    return this.#checking
  }

  sealing(deadlineMs: number): Sealing | Promise<Sealing> {
    const { clock } = this.#options
    const current = this.#current
    const isWanted = current?.keyId === this.#keyId || this.unhealthy !== null
    if (current !== null && isWanted && !this.#isExpired()) return current
    return beforeDeadline(this.#made(), { clock, deadlineMs, late: () => this.#unavailable('no response') })
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

  async #check(): Promise<void> {
    const { service, clock } = this.#options
    const startedMs = clock.monotonicMs()
    try {
      const { keyId } = await service.status()
      this.#keyId = keyId
      this.#statusFailure = null
      this.#healthyMs = startedMs
      if (this.#current?.keyId === keyId) this.#confirmedMs = startedMs
      // The data key is made now, so that the reported health does not depend on writes.
      const lacksKey = this.#current === null ? this.#makingFailure !== null : this.#current.keyId !== keyId
      if (lacksKey) this.#made().catch(() => undefined)
      else this.#makingFailure = null
    } catch (cause) {
      this.#statusFailure = wordsOf(cause)
    }
    this.#report(this.unhealthy)
  }

  #isExpired(): boolean {
    return this.#options.clock.monotonicMs() - this.#confirmedMs >= usableMs
  }

  #made(): Promise<Sealing> {
    this.#making ??= this.#make().finally(() => {
      this.#making = null
    })
    return this.#making
  }

  /** @throws ApiError */
  async #make(): Promise<Sealing> {
    const { clock } = this.#options
    if (this.#statusFailure !== null || (this.#current !== null && this.#isExpired())) await this.look()
    const present = this.#current
    // The service may have confirmed its key ID again.
    if (present !== null && present.keyId === this.#keyId && !this.#isExpired()) return present
    if (this.#statusFailure !== null) return this.#presentOr(this.#statusFailure)
    const startedMs = clock.monotonicMs()
    try {
      const made = await this.#newDataKey()
      this.#current = made
      this.#keyId = made.keyId
      this.#confirmedMs = startedMs
      this.#makingFailure = null
      this.#report(this.unhealthy)
      return made
    } catch (cause) {
      this.#makingFailure = wordsOf(cause)
      this.#report(this.unhealthy)
      return this.#presentOr(this.#makingFailure)
    }
  }

  /** Returns the present data key until it expires. @throws ApiError */
  #presentOr(failure: string): Sealing {
    if (this.#current === null) throw this.#unavailable(failure)
    if (!this.#isExpired()) return this.#current
    const seconds = Math.round((this.#options.clock.monotonicMs() - this.#confirmedMs) / 1000)
    const expired = `its data key expired, as the service was last healthy with its key_id ${seconds} seconds ago`
    throw this.#unavailable(`${failure}; ${expired}: repair the service`)
  }

  /** @throws KmsError */
  async #newDataKey(): Promise<Sealing & { readonly keyId: string }> {
    const { service, random } = this.#options
    const key = random.bytes(dataKeyBytes)
    const encrypted = await service.encrypt(key)
    if (this.#keyId !== null && encrypted.keyId !== this.#keyId) {
      // The key of the service may have changed since the last Status.
      await this.look()
      if (encrypted.keyId !== this.#keyId)
        throw new KmsError('malformed', 'Encrypt used another key_id than Status reports')
    }
    const wrapped = encodeWrapped(encrypted)
    // Objects under a data key that the service cannot return would be lost.
    const returned = await service.decrypt(decodeWrapped(wrapped))
    if (Buffer.compare(returned, key) !== 0)
      throw new KmsError('malformed', 'Decrypt returned another data key than Encrypt was given')
    const cipher = new AesGcmCipher(key, random)
    this.#keep(idOf(wrapped), cipher)
    return { cipher, wrapped, keyId: encrypted.keyId }
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

  #unavailable(why: string): Error {
    const words = `the kms key ${JSON.stringify(this.name)} cannot encrypt: ${why}`
    return serviceUnavailable(words, { retryAfterSeconds: 1 })
  }
}

function idOf(wrapped: Uint8Array): string {
  return Buffer.from(wrapped.buffer, wrapped.byteOffset, wrapped.byteLength).toString('latin1')
}

function wordsOf(cause: unknown): string {
  if (cause instanceof KmsError) return cause.message
  throw cause
}
