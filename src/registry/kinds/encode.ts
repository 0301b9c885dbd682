import { assert } from '../../../base/assert.ts'
import { parseOwnJson } from '../../api/codec/json.ts'
import { encodeObject } from '../../api/codec/object-json.ts'
import { isJsonObject } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import type { EncodedObject } from '../../store/command.ts'
import type { Revision } from '../../store/revision.ts'
import type { StoredObject } from '../../store/object-store.ts'
import type { AnyObject } from './definition.ts'

/** Serializes an object once, for the store and for everyone who reads it afterwards. */
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
 * The bytes a client sees, for an object that is not stored: `resourceVersion` is `version`, or
 * left out.
 */
export function withRevision(encoded: EncodedObject, version: Revision | null): Uint8Array {
  if (version !== null) return splice(encoded.bytes, encoded.revisionOffset, encoded.revisionOffset, version)
  const member = Buffer.byteLength(',"resourceVersion":"')
  const from = encoded.revisionOffset - member
  return Buffer.concat([encoded.bytes.subarray(0, from), encoded.bytes.subarray(encoded.revisionOffset + 1)])
}

/**
 * The stored bytes as of another revision: what a watcher is told when an object leaves its
 * selection.
 */
export function atRevision(stored: StoredObject, version: Revision): Uint8Array {
  const bytes = Buffer.from(stored.bytes.buffer, stored.bytes.byteOffset, stored.bytes.byteLength)
  // A quote inside a JSON string is escaped, so the first hit is the member itself.
  const from = bytes.indexOf(revisionMember, stored.itemOffset)
  assert(from >= 0, 'a stored object carries its resourceVersion')
  const digits = from + revisionMember.length
  return splice(bytes, digits, bytes.indexOf('"', digits), version)
}

const revisionMember = '"resourceVersion":"'

function splice(bytes: Uint8Array, from: number, to: number, version: Revision): Uint8Array {
  return Buffer.concat([bytes.subarray(0, from), Buffer.from(String(version)), bytes.subarray(to)])
}

/** A stored object, parsed. The store holds only what `encodeObject` made. */
export function parseStored(stored: Pick<StoredObject, 'bytes'>): AnyObject {
  return parseBytes(stored.bytes)
}

/** @param bytes of a stored object, or of one as it would be stored */
export function parseBytes(bytes: Uint8Array): AnyObject {
  const value = parsedJson(bytes)
  assert(isJsonObject(value['metadata']), 'a stored object has metadata')
  return value as AnyObject
}

/** @param bytes an object that this server wrote */
export function parsedJson({ buffer, byteOffset, byteLength }: Uint8Array): JsonObject {
  const value = parseOwnJson(Buffer.from(buffer, byteOffset, byteLength).toString('utf8'))
  assert(isJsonObject(value), 'what this server writes is an object')
  return value
}
