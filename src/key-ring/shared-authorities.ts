import { createPrivateKey, createPublicKey } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { loadAuthority } from '../pki/authority.ts'
import type { Authority } from '../pki/authority.ts'
import type { KeyPair } from '../pki/keys.ts'
import { Informer } from '../registry/informer.ts'
import type { ObjectStore } from '../store/object-store.ts'
import { signingAuthority } from './authority-stages.ts'
import type { SharedAuthority } from './authority-stages.ts'
import { unseal } from './sealing.ts'
import { authoritiesKey, authoritiesPrefix, storedAuthorities } from './stored-authorities.ts'

export type SharedAuthoritiesDependencies = {
  readonly store: ObjectStore
  readonly clock: Clock
  /** ID of this member in decimal. */
  readonly member: string
  readonly memberKey: KeyPair
  readonly log: { error(fields: object, message: string): void }
}

/** Returns the context in which a private key is sealed. It cannot be opened in another context. */
export function authoritySealingContext(id: string): string {
  return `cluster signing authority key ${id}`
}

/**
 * The authorities that sign certificate signing requests and that all members share, as this member
 * has applied them.
 */
export class SharedAuthorities {
  readonly #dependencies: SharedAuthoritiesDependencies
  readonly #stored: Informer<readonly SharedAuthority[]>
  #current: readonly SharedAuthority[] = []
  /** By ID: the authority that signs and the next one, if this member has opened their keys. */
  readonly #opened = new Map<string, Authority>()
  readonly #listeners = new Set<() => void>()
  #opening: Promise<void> = Promise.resolve()

  constructor(dependencies: SharedAuthoritiesDependencies) {
    this.#dependencies = dependencies
    const { store, clock } = dependencies
    this.#stored = new Informer({ store, clock, prefix: authoritiesPrefix, parse: storedAuthorities })
  }

  start(): void {
    this.#stored.subscribe(({ key }) => {
      if (key === authoritiesKey) this.#take(this.#stored.get(key) ?? [])
    })
    this.#stored.start()
  }

  close(): void {
    this.#stored.close()
    this.#listeners.clear()
  }

  /** Calls `listener` after the certificates have changed. */
  onChange(listener: () => void): void {
    this.#listeners.add(listener)
  }

  /** All authorities, also the next and the earlier ones: PEM, or an empty text. */
  get certificates(): string {
    return this.#current.map(({ certificate }) => certificate).join('')
  }

  /** The authority that signs. null: none yet, or this member cannot open its key. */
  get signer(): Authority | null {
    const signing = signingAuthority(this.#current)
    return signing === null ? null : this.authority(signing.id)
  }

  /** The certificate of the authority that signs: PEM, or an empty text. */
  get signingCertificate(): string {
    return signingAuthority(this.#current)?.certificate ?? ''
  }

  /** @returns null: this member cannot open its key */
  authority(id: string): Authority | null {
    return this.#opened.get(id) ?? null
  }

  canOpen(id: string): boolean {
    return this.#opened.has(id)
  }

  /** Resolves once the authorities are those that this member has applied. @throws StoreError */
  async untilCurrent(): Promise<void> {
    await this.#stored.takeIn()
    await this.#opening
  }

  #take(authorities: readonly SharedAuthority[]): void {
    this.#current = authorities
    const sealed = authorities.filter((one) => one.sealed !== null)
    for (const id of this.#opened.keys()) {
      if (!sealed.some((one) => one.id === id)) this.#opened.delete(id)
    }
    for (const one of sealed) {
      if (!this.#opened.has(one.id)) this.#opening = this.#opening.then(() => this.#open(one))
    }
    for (const listener of this.#listeners) listener()
  }

  async #open({ id, certificate, sealed }: SharedAuthority): Promise<void> {
    const { member, memberKey, log } = this.#dependencies
    if (sealed?.recipients[member] === undefined) return
    const { privateKey } = memberKey
    const bytes = await unseal(sealed, { member, privateKey, context: authoritySealingContext(id) })
    // It may have been replaced in the meantime.
    if (!this.#current.some((one) => one.id === id && one.sealed !== null)) return
    const authority = bytes === null ? null : authorityIn(certificate, bytes)
    if (authority === null) {
      log.error(
        { authority: id },
        'the key of the cluster authority cannot be opened: the leader replaces it',
      )
      return
    }
    this.#opened.set(id, authority)
  }
}

/** @returns null: the key does not belong to the certificate, or is no key */
function authorityIn(certificate: string, bytes: Uint8Array): Authority | null {
  try {
    const privateKey = createPrivateKey({ key: Buffer.from(bytes), format: 'der', type: 'pkcs8' })
    return loadAuthority(certificate, { privateKey, publicKey: createPublicKey(privateKey) })
  } catch {
    // The error of the runtime may show parts of the key.
    return null
  }
}
