import { assert } from '../../../base/assert.ts'
import { parseOwnJson } from '../../api/codec/json.ts'
import { encodeObject } from '../../api/codec/object-json.ts'
import { isJsonObject } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import type { EncodedObject } from '../../store/command.ts'
import type { Revision } from '../../store/revision.ts'
import type { StoredObject } from '../../store/object-store.ts'
import type { AnyObject } from './definition.ts'

/** Serializes an object once, for the store and all later readers. */
export function encode(object: AnyObject): EncodedObject {
  const { uid, deletionTimestamp, labels } = object.metadata
  assert(uid !== undefined && uid !== '', 'an object has a uid before it is encoded')
  const { text, revisionOffset, itemOffset } = encodeObject(object)
  return {
    bytes: Buffer.from(text),
    revisionOffset,
    itemOffset,
    uid,
    terminating: typeof deletionTimestamp === 'string',
    labels: labels ?? null,
  }
}

/**
 * Returns the bytes of an encoded object for a client: with `version` as `resourceVersion`, or
 * without one.
 */
export function withRevision(encoded: EncodedObject, version: Revision | null): Uint8Array {
  if (version !== null) return splice(encoded.bytes, encoded.revisionOffset, encoded.revisionOffset, version)
  const member = Buffer.byteLength(',"resourceVersion":"')
  const from = encoded.revisionOffset - member
  return Buffer.concat([encoded.bytes.subarray(0, from), encoded.bytes.subarray(encoded.revisionOffset + 1)])
}

/**
 * Returns the stored bytes with another revision, such as for a watch event of an object that
 * leaves the selection.
 */
export function atRevision(stored: StoredObject, version: Revision): Uint8Array {
  const { buffer, byteOffset, byteLength } = stored.bytes
  const bytes = Buffer.from(buffer, byteOffset, byteLength)
  // Only strings precede the member, and quotes inside them are escaped: the first match is the
  // member.
  const from = bytes.indexOf(revisionMember, stored.itemOffset)
  assert(from >= 0, 'a stored object carries its resourceVersion')
  const digits = from + revisionMember.length
  return splice(bytes, digits, bytes.indexOf('"', digits), version)
}

const revisionMember = '"resourceVersion":"'

function splice(bytes: Uint8Array, from: number, to: number, version: Revision): Uint8Array {
  return Buffer.concat([bytes.subarray(0, from), Buffer.from(String(version)), bytes.subarray(to)])
}

/** Parses a stored object. The store holds only output of `encodeObject`. */
export function parseStored(stored: Pick<StoredObject, 'bytes'>): AnyObject {
  return parseBytes(stored.bytes)
}

/** @param bytes of a stored object, or of one in stored form */
export function parseBytes(bytes: Uint8Array): AnyObject {
  const value = parsedJson(bytes)
  assert(isJsonObject(value['metadata']), 'a stored object has metadata')
  return value as AnyObject
}

/** @param bytes of an object that this server encoded */
export function parsedJson({ buffer, byteOffset, byteLength }: Uint8Array): JsonObject {
  const value = parseOwnJson(Buffer.from(buffer, byteOffset, byteLength).toString('utf8'))
  assert(isJsonObject(value), 'what this server writes is an object')
  return value
}
