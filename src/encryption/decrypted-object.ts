import { copied } from '../../base/copied.ts'
import { SealedObjectError } from '../registry/shared/sealed-object-error.ts'
import { partsOf } from '../store/key.ts'
import type { Key } from '../store/key.ts'
import type { StoredObject } from '../store/object-store.ts'
import type { Revision } from '../store/revision.ts'
import type { Cipher } from './cipher.ts'
import { isSealed, parseEnvelope, sealedWith, sealingContext } from './envelope.ts'
import type { Envelope, ParsedEnvelope } from './envelope.ts'
import type { Plain, PlainCache } from './plain-cache.ts'
import { readerOf, resourceOfPlace, sealingPlaceOf } from './resource-keys.ts'
import type { EncryptionKeys } from './resource-keys.ts'
import type { SealingKey } from './sealing-key.ts'

/** Provides the keys of decrypted objects, and caches their plain content. */
export type Decryption = {
  readonly keys: EncryptionKeys
  readonly cache: PlainCache
  /** Called when an object cannot be decrypted; not while a service has yet to decrypt its key. */
  readonly onSealed: (failure: SealedFailure) => void
}

/** Why an object cannot be read. */
export type SealedFailure = {
  readonly resource: string
  /**
   * null: the object is stored in plain text, which the configuration does not read, or its
   * envelope is too damaged to name the key.
   */
  readonly key: Pick<Envelope, 'provider' | 'keyName'> | null
  readonly why: 'missing' | 'damaged'
}

/**
 * An object that is stored encrypted. It is decrypted on demand, so a list does not hold the plain
 * bytes of a whole collection. Properties that need them throw SealedObjectError if this member
 * cannot decrypt them; the other properties are always readable.
 */
export class DecryptedObject implements StoredObject {
  /** The object as stored. */
  readonly raw: StoredObject
  readonly #decryption: Decryption
  /** The keys that were in use when it was decrypted last. null: it was not decrypted yet. */
  #openedWith: EncryptionKeys | null = null

  constructor(raw: StoredObject, decryption: Decryption) {
    this.raw = raw
    this.#decryption = decryption
  }

  get key(): Key {
    return this.raw.key
  }

  get revision(): Revision {
    return this.raw.revision
  }

  get uid(): string {
    return this.raw.uid
  }

  get terminating(): boolean {
    return this.raw.terminating
  }

  get labels(): StoredObject['labels'] {
    return this.#plain().labels
  }

  get bytes(): Uint8Array {
    return this.#plain().bytes
  }

  get byteLength(): number {
    const envelope = parseEnvelope(this.raw)
    return envelope === null ? this.raw.byteLength : envelope.objectBytes + String(this.revision).length
  }

  get itemOffset(): number {
    return parseEnvelope(this.raw)?.itemOffset ?? this.raw.itemOffset
  }

  copyTo(target: Uint8Array, to: number, from: number): number {
    return copied(this.bytes.subarray(from), target, to)
  }

  get beginning(): Uint8Array {
    return this.bytes
  }

  /**
   * Decrypts the object unless that was done before with the present keys. If the plain content is
   * no longer cached, checks that the key is available: a key management service may have to
   * decrypt it again.
   *
   * @throws SealedObjectError the key is missing or not decrypted yet, or the object was changed
   */
  requireReadable(): void {
    if (this.#openedWith !== this.#decryption.keys) this.#plain()
    else if (this.#decryption.cache.get(this) === null) this.#cipher(this.#envelope())
  }

  /** Keeps the plain content of an object that was just written. */
  accept(plain: Plain): void {
    this.#openedWith = this.#decryption.keys
    this.#decryption.cache.add(this, plain)
  }

  #plain(): Plain {
    const { cache } = this.#decryption
    const known = cache.get(this)
    if (known !== null) return known
    const plain = this.#decrypted()
    this.#openedWith = this.#decryption.keys
    cache.add(this, plain)
    return plain
  }

  #decrypted(): Plain {
    const envelope = this.#envelope()
    const { provider, keyName, wrapped, sealed, head, objectBytes, revisionOffset } = envelope
    const { key, cipher } = this.#cipher(envelope)
    const content = cipher.open(sealed, sealingContext(head, this.raw))
    if (content === null || content.byteLength < objectBytes) {
      key.failedToOpen(wrapped)
      throw this.#failed('damaged', { provider, keyName })
    }
    const digits = Buffer.from(String(this.revision))
    return {
      bytes: Buffer.concat([
        content.subarray(0, revisionOffset),
        digits,
        content.subarray(revisionOffset, objectBytes),
      ]),
      labels: labelsIn(content.subarray(objectBytes)),
    }
  }

  #cipher({ provider, keyName, wrapped }: Envelope): { readonly key: SealingKey; readonly cipher: Cipher } {
    const key = readerOf(this.#decryption.keys.of(this.key), provider, keyName)
    if (key === null) throw this.#failed('missing', { provider, keyName })
    return { key, cipher: key.cipherOf(wrapped) }
  }

  #envelope(): ParsedEnvelope {
    const envelope = isSealed(this.raw) ? parseEnvelope(this.raw) : null
    if (envelope !== null) return envelope
    throw isSealed(this.raw) ? this.#failed('damaged', sealedWith(this.raw)) : this.#failed('missing', null)
  }

  #failed(why: SealedFailure['why'], key: SealedFailure['key']): SealedObjectError {
    const resource = resourceOfPlace(sealingPlaceOf(this.key))
    this.#decryption.onSealed({ resource, key, why })
    const { namespace, name } = partsOf(this.key)
    const place = namespace === '' ? name : `${namespace}/${name}`
    const words = `${resource} ${JSON.stringify(place)} ${reasonOf({ resource, key, why })}`
    return new SealedObjectError(words, null, { name, kind: resource })
  }
}

/** Returns the reason and the remedy, to follow the object. */
export function reasonOf({ resource, key, why }: SealedFailure): string {
  const file = 'the file of --encryption-provider-config'
  if (key === null) {
    return why === 'missing'
      ? `is stored in plain text, which this member does not read: add the provider identity for ${resource} to ${file}`
      : 'cannot be decrypted: its stored bytes were changed'
  }
  const named = `the ${key.provider} key ${JSON.stringify(key.keyName)}`
  return why === 'missing'
    ? `is encrypted with ${named}, which this member lacks: add it for ${resource} to ${file}`
    : `cannot be decrypted with ${named}: its stored bytes were changed, or the key has another secret in ${file}`
}

function labelsIn(text: Uint8Array): Plain['labels'] {
  if (text.byteLength === 0) return null
  // Authenticated: they are as they were written.
  return JSON.parse(Buffer.from(text).toString('utf8')) as Readonly<Record<string, string>>
}
