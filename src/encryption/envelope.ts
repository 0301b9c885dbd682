import type { EncodedObject } from '../store/command.ts'
import type { StoredObject } from '../store/object-store.ts'

/*
 * An encrypted object, as log, database and snapshots have it:
 *
 *   orch:enc:aesgcm:v1:KEY:            the cipher or provider, the format, the name of the key
 *   | wrapped bytes (2) | wrapped      the data key, encrypted by a key management service; or nothing
 *   | item offset (4) | revision offset (4) | object bytes (4)
 *   | sealed: the bytes of the object, and its labels as JSON
 *   | the revision in decimal          inserted when the write is applied, as in any object
 *
 * Numbers are little-endian. All that precedes the sealed bytes is authenticated with them, and so
 * are the key, the uid and the deletion mark of the stored object. These three stay readable,
 * because the state machine uses them; labels do not.
 *
 * The prefix has the form of upstream's with another first word, because upstream could not read
 * the rest.
 */

export const providerKinds = ['aesgcm', 'aescbc', 'secretbox', 'kms'] as const
export type ProviderKind = (typeof providerKinds)[number]

export type Envelope = {
  readonly provider: ProviderKind
  readonly keyName: string
  /** The data key as a key management service encrypted it; empty: the key itself encrypts. */
  readonly wrapped: Uint8Array
  /** Offsets in the plain object, as in `EncodedObject`. */
  readonly itemOffset: number
  readonly revisionOffset: number
  /** Bytes of the plain object, without digits of its revision. */
  readonly objectBytes: number
}

/** The readable properties of an object, to which its sealed bytes are bound. */
export type SealedIdentity = Pick<StoredObject, 'key' | 'uid' | 'terminating'>

export type ParsedEnvelope = Envelope & {
  /** All that precedes the sealed bytes. */
  readonly head: Uint8Array
  readonly sealed: Uint8Array
}

/**
 * Whether a stored object is encrypted. Cheap: `itemOffset` is above 0 for plain objects, which
 * begin with kind and apiVersion.
 */
export function isSealed({ itemOffset }: Pick<StoredObject, 'itemOffset'>): boolean {
  return itemOffset === 0
}

const first = 'orch:enc'
const format = 'v1'
const offsetsBytes = 12
/** Longer than any prefix: names of keys have at most 63 characters. */
const prefixBytesMax = 128
export const wrappedBytesMax = 65_535

/** Returns what precedes the sealed bytes. */
export function envelopeHead(envelope: Envelope): Uint8Array {
  const { provider, keyName, wrapped, itemOffset, revisionOffset, objectBytes } = envelope
  const prefix = Buffer.from(`${first}:${provider}:${format}:${keyName}:`)
  const numbers = Buffer.alloc(offsetsBytes)
  numbers.writeUInt32LE(itemOffset, 0)
  numbers.writeUInt32LE(revisionOffset, 4)
  numbers.writeUInt32LE(objectBytes, 8)
  const length = Buffer.alloc(2)
  length.writeUInt16LE(wrapped.byteLength)
  return Buffer.concat([prefix, length, wrapped, numbers])
}

/** Returns what is authenticated with the sealed bytes. */
export function sealingContext(head: Uint8Array, { key, uid, terminating }: SealedIdentity): Uint8Array {
  return Buffer.concat([head, Buffer.from(JSON.stringify([key, uid, terminating]))])
}

/** Returns an object as it is stored. @param sealed with `sealingContext` as its context */
export function sealedObject(
  head: Uint8Array,
  sealed: Uint8Array,
  { uid, terminating }: EncodedObject,
): EncodedObject {
  const bytes = Buffer.concat([head, sealed])
  return { bytes, itemOffset: 0, revisionOffset: bytes.byteLength, uid, terminating, labels: null }
}

/** @returns null: the object is not in this form */
export function parseEnvelope(stored: StoredObject): ParsedEnvelope | null {
  const whole = stored.bytes
  const bytes = Buffer.from(whole.buffer, whole.byteOffset, whole.byteLength)
  const end = bytes.byteLength - String(stored.revision).length
  const named = prefixOf(bytes)
  if (named === null) return null
  const { provider, keyName, prefixBytes } = named
  if (prefixBytes + 2 > end) return null
  const numbersAt = prefixBytes + 2 + bytes.readUInt16LE(prefixBytes)
  const headBytes = numbersAt + offsetsBytes
  if (headBytes > end) return null
  const itemOffset = bytes.readUInt32LE(numbersAt)
  const revisionOffset = bytes.readUInt32LE(numbersAt + 4)
  const objectBytes = bytes.readUInt32LE(numbersAt + 8)
  if (itemOffset > revisionOffset || revisionOffset > objectBytes) return null
  return {
    ...{ provider, keyName, itemOffset, revisionOffset, objectBytes },
    wrapped: bytes.subarray(prefixBytes + 2, numbersAt),
    head: bytes.subarray(0, headBytes),
    sealed: bytes.subarray(headBytes, end),
  }
}

/** Returns provider and key of an encrypted object. @returns null: it is not in this form */
export function sealedWith(stored: StoredObject): Pick<Envelope, 'provider' | 'keyName'> | null {
  const { buffer, byteOffset, byteLength } = stored.beginning
  return prefixOf(Buffer.from(buffer, byteOffset, byteLength))
}

function prefixOf(bytes: Buffer): (Pick<Envelope, 'provider' | 'keyName'> & { prefixBytes: number }) | null {
  const text = bytes.toString('latin1', 0, Math.min(prefixBytesMax, bytes.byteLength))
  if (!text.startsWith(`${first}:`)) return null
  const [, , given, version, keyName, rest] = text.split(':', 6)
  const provider = providerKinds.find((kind) => kind === given)
  if (provider === undefined || version !== format || keyName === undefined || rest === undefined) return null
  return { provider, keyName, prefixBytes: `${first}:${provider}:${format}:${keyName}:`.length }
}
