import { createPrivateKey } from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { AuthError } from '../auth/errors.ts'
import { readVerificationKeys, signingKeyOf } from '../auth/service-accounts/token-keys.ts'
import type { SharedKeySource, SigningKey, VerificationKey } from '../auth/service-accounts/token-keys.ts'
import { limits } from '../config/limits.ts'
import type { KeyPair } from '../pki/keys.ts'
import { Informer } from '../registry/informer.ts'
import type { ObjectStore } from '../store/object-store.ts'
import { unseal } from './sealing.ts'
import { signingOrder } from './signing-keys.ts'
import type { SharedKey, SigningKeys } from './signing-keys.ts'
import { signingKeysKey, signingKeysPrefix, storedSigningKeys } from './stored-keys.ts'

export type SharedTokenKeysDependencies = {
  readonly store: ObjectStore
  readonly clock: Clock
  /** ID of this member in decimal. */
  readonly member: string
  readonly memberKey: KeyPair
  readonly log: { error(fields: object, message: string): void }
}

/** Returns the context in which a private key is sealed. It cannot be opened in another context. */
export function sealingContext(id: string): string {
  return `service account signing key ${id}`
}

/**
 * The shared keys of service account tokens, as this member has applied them: a key that is revoked
 * verifies nothing once the member has applied it.
 */
export class SharedTokenKeys implements SharedKeySource {
  readonly #dependencies: SharedTokenKeysDependencies
  readonly #stored: Informer<SigningKeys>
  #current: SigningKeys | null = null
  #verification: readonly VerificationKey[] = []
  /** Private keys in force that this member has opened, by ID. */
  #opened: ReadonlyMap<string, SigningKey> = new Map()
  #version = 0
  /** Called when a key can sign. Bounded by the requests in flight. */
  readonly #waiters = new Set<() => void>()
  readonly #listeners = new Set<() => void>()
  /** Bounded by the keys and their changes. */
  readonly #opening = new Set<Promise<void>>()

  constructor(dependencies: SharedTokenKeysDependencies) {
    this.#dependencies = dependencies
    const { store, clock } = dependencies
    this.#stored = new Informer({ store, clock, prefix: signingKeysPrefix, parse: storedSigningKeys })
  }

  start(): void {
    this.#stored.subscribe(({ key }) => {
      if (key === signingKeysKey) this.#take(this.#stored.get(key))
    })
    this.#stored.start()
  }

  close(): void {
    this.#stored.close()
    for (const wake of this.#waiters) wake()
  }

  /**
   * Calls `listener` after the keys that verify have changed.
   *
   * @returns a function that unsubscribes it
   */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /**
   * Resolves once the keys are those that this member has applied, and opened as far as they are
   * sealed for it. @throws StoreError
   */
  async untilCurrent(): Promise<void> {
    await this.#stored.takeIn()
    await Promise.all(this.#opening)
  }

  get version(): number {
    return this.#version
  }

  get verification(): readonly VerificationKey[] {
    return this.#verification
  }

  /** Whether this member has the private key of that ID. */
  canOpen(id: string): boolean {
    return this.#opened.has(id)
  }

  privateKey(id: string): KeyObject | null {
    return this.#opened.get(id)?.privateKey ?? null
  }

  signer(): SigningKey | null {
    if (this.#current === null) return null
    for (const { id } of signingOrder(this.#current, this.#dependencies.clock.wallMs())) {
      const key = this.#opened.get(id)
      if (key !== undefined) return key
    }
    return null
  }

  /** Waits for the first key of a new cluster or member. @returns null: it did not come */
  async untilSigner(): Promise<SigningKey | null> {
    const present = this.signer()
    if (present !== null) return present
    const { clock } = this.#dependencies
    await new Promise<void>((resolve) => {
      const wake = (): void => {
        this.#waiters.delete(wake)
        timer.cancel()
        resolve()
      }
      const timer = clock.after(limits.signingKeyWaitMs, wake)
      this.#waiters.add(wake)
    })
    return this.signer()
  }

  #take(keys: SigningKeys | null): void {
    this.#current = keys
    this.#version++
    const newestFirst = keys?.keys.toReversed() ?? []
    this.#verification = newestFirst.flatMap((key) => this.#verificationKeys(key))
    const sealed = newestFirst.filter((key) => key.sealed !== null)
    this.#opened = new Map([...this.#opened].filter(([id]) => sealed.some((key) => key.id === id)))
    for (const key of sealed) {
      if (this.#opened.has(key.id)) continue
      const opening = this.#open(key).finally(() => this.#opening.delete(opening))
      this.#opening.add(opening)
    }
    for (const listener of this.#listeners) listener()
  }

  /**
   * Returns the public key. Empty: a newer program created a key of a type that this one does not
   * support.
   */
  #verificationKeys({ id, publicKey }: SharedKey): readonly VerificationKey[] {
    try {
      return readVerificationKeys(publicKey, `shared key ${id}`)
    } catch (cause) {
      if (!(cause instanceof AuthError)) throw cause
      this.#dependencies.log.error({ keyId: id, err: cause }, 'a shared key cannot verify tokens here')
      return []
    }
  }

  async #open({ id, sealed }: SharedKey): Promise<void> {
    const { member, memberKey, log } = this.#dependencies
    if (sealed?.recipients[member] === undefined) return
    const { privateKey } = memberKey
    const bytes = await unseal(sealed, { member, privateKey, context: sealingContext(id) })
    // The key may have been revoked, or sealed again, in the meantime.
    if (this.#current?.keys.find((key) => key.id === id)?.sealed?.jwe !== sealed.jwe) return
    const key = bytes === null ? null : signingKeyIn(bytes, id)
    if (key === null) {
      log.error({ keyId: id }, 'a shared signing key cannot be opened: the leader replaces it')
      return
    }
    this.#opened = new Map([...this.#opened, [id, key]])
    this.#version++
    for (const wake of this.#waiters) wake()
  }
}

/** @returns null: it is not the private key of that ID, or of a type that is not supported */
function signingKeyIn(bytes: Uint8Array, id: string): SigningKey | null {
  const der = Buffer.from(bytes)
  try {
    const privateKey = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
    const key = signingKeyOf(privateKey, `shared key ${id}`)
    return key.verification.id === id ? key : null
  } catch {
    // The error of the runtime may show parts of the key.
    return null
  }
}
