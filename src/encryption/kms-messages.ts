import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire'
import { CodedError } from '../../base/coded-error.ts'

/*
 * The messages of version 2 of the KMS API, and a data key as this server stores it.
 * @source kms `apis/v2/api.proto`
 */

/** A key management service failed, or sent an invalid response. */
export class KmsError extends CodedError<'unavailable' | 'malformed'> {}

export type KmsStatus = {
  readonly version: string
  readonly healthz: string
  readonly keyId: string
}

/** A data key that the service encrypted. */
export type WrappedKey = {
  readonly ciphertext: Uint8Array
  readonly keyId: string
  readonly annotations: ReadonlyMap<string, Uint8Array>
}

const textBytesMax = 1024
const annotationsBytesMax = 32 * 1024

export function decodeStatus(bytes: Uint8Array): KmsStatus {
  const found = { version: '', healthz: '', keyId: '' }
  read(bytes, 'the response to Status', (reader, field) => {
    if (field === 1) found.version = reader.string()
    else if (field === 2) found.healthz = reader.string()
    else if (field === 3) found.keyId = reader.string()
    else return false
    return true
  })
  return found
}

export function encodeEncryptRequest(plaintext: Uint8Array, uid: string): Uint8Array {
  return new BinaryWriter().uint32(tagOf(1)).bytes(plaintext).uint32(tagOf(2)).string(uid).finish()
}

/** @throws KmsError `malformed` */
export function decodeEncryptResponse(bytes: Uint8Array): WrappedKey {
  return decodeWrapped(bytes, 'the response to Encrypt')
}

export function encodeDecryptRequest(wrapped: WrappedKey, uid: string): Uint8Array {
  const { ciphertext, keyId, annotations } = wrapped
  const writer = new BinaryWriter().uint32(tagOf(1)).bytes(ciphertext).uint32(tagOf(2)).string(uid)
  writer.uint32(tagOf(3)).string(keyId)
  writeAnnotations(writer, 4, annotations)
  return writer.finish()
}

/** @throws KmsError `malformed` */
export function decodeDecryptResponse(bytes: Uint8Array): Uint8Array {
  let plaintext = new Uint8Array(0)
  read(bytes, 'the response to Decrypt', (reader, field) => {
    if (field !== 1) return false
    plaintext = Uint8Array.from(reader.bytes())
    return true
  })
  return plaintext
}

/** Returns a data key as stored with the objects: in the form of a response to Encrypt. */
export function encodeWrapped({ ciphertext, keyId, annotations }: WrappedKey): Uint8Array {
  const writer = new BinaryWriter().uint32(tagOf(1)).bytes(ciphertext).uint32(tagOf(2)).string(keyId)
  writeAnnotations(writer, 3, annotations)
  return writer.finish()
}

/** @throws KmsError `malformed` */
export function decodeWrapped(bytes: Uint8Array, what = 'the stored data key'): WrappedKey {
  let ciphertext = new Uint8Array(0)
  let keyId = ''
  let annotationBytes = 0
  const annotations = new Map<string, Uint8Array>()
  read(bytes, what, (reader, field) => {
    if (field === 1) ciphertext = Uint8Array.from(reader.bytes())
    else if (field === 2) keyId = reader.string()
    else if (field === 3) {
      const entry = reader.bytes()
      annotationBytes += entry.byteLength
      if (annotationBytes > annotationsBytesMax) throw tooLong(what, 'annotations')
      const [name, value] = decodeAnnotation(entry, what)
      annotations.set(name, value)
    } else return false
    return true
  })
  if (keyId === '' || Buffer.byteLength(keyId) > textBytesMax) throw tooLong(what, 'key_id')
  if (ciphertext.byteLength === 0 || ciphertext.byteLength > textBytesMax) throw tooLong(what, 'ciphertext')
  return { ciphertext, keyId, annotations }
}

function decodeAnnotation(bytes: Uint8Array, what: string): readonly [string, Uint8Array] {
  let [name, value] = ['', new Uint8Array(0)]
  read(bytes, what, (reader, field) => {
    if (field === 1) name = reader.string()
    else if (field === 2) value = Uint8Array.from(reader.bytes())
    else return false
    return true
  })
  return [name, value]
}

function writeAnnotations(writer: BinaryWriter, field: number, annotations: WrappedKey['annotations']): void {
  for (const [name, value] of annotations) {
    writer.uint32(tagOf(field)).fork().uint32(tagOf(1)).string(name).uint32(tagOf(2)).bytes(value).join()
  }
}

/** All known fields are length-delimited. */
function tagOf(field: number): number {
  return (field << 3) | 2
}

/** @param take reads a field of bytes; false: it is unknown, and is skipped */
function read(bytes: Uint8Array, what: string, take: (reader: BinaryReader, field: number) => boolean): void {
  try {
    const reader = new BinaryReader(bytes)
    while (reader.pos < reader.len) {
      const [field, type] = reader.tag()
      if (type !== WireType.LengthDelimited || !take(reader, field)) reader.skip(type)
    }
  } catch (cause) {
    if (cause instanceof KmsError) throw cause
    throw new KmsError('malformed', `${what} cannot be read`, { cause })
  }
}

function tooLong(what: string, field: string): KmsError {
  return new KmsError('malformed', `${what} has no ${field}, or one that is too long`)
}
