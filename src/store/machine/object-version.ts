import { assert } from '../../../base/assert.ts'
import type { EncodedObject } from '../command.ts'
import { DatabaseError } from '../store-errors.ts'
import type { Key } from '../key.ts'
import type { StoredObject } from '../object-store.ts'
import { revision as revisionOf } from '../revision.ts'
import type { Revision } from '../revision.ts'
import { hash128, hashBytes, newHash, readHash, sameHash, writeHash } from './hash.ts'
import type { Hash128 } from './hash.ts'
import { PackedRecord } from './packed-record.ts'

/**
 * One version of one object, and the event that created it: both have the same revision and share
 * a record. A deletion creates a last version.
 *
 * The stored record, whose last part are the bytes of the object:
 *
 *   0     16    17     18          20          22             26           30
 *   | hash | kind | flags | key bytes | uid bytes | label bytes | item offset | revision offset
 *   34         42         50
 *   | revision | previous | key | uid | labels as JSON | the object's bytes |
 *
 * Numbers are little-endian, revisions are doubles. The hash covers all that follows it.
 */
export class Version implements StoredObject {
  readonly key: Key
  readonly revision: Revision
  readonly uid: string
  readonly labels: StoredObject['labels']
  readonly terminating: boolean
  readonly itemOffset: number
  readonly kind: 'created' | 'updated' | 'deleted'
  /** The replaced version; 0 for `created`. */
  readonly previous: Revision
  readonly revisionOffset: number
  /** Whether it is the last event of its command: readers of events stop only after such ones. */
  readonly lastOfCommand: boolean
  /** Length of the record before `bytes`. */
  readonly headerBytes: number
  /** Whole until `pack`: the newest versions are read most, by the response and by watches. */
  #record: Buffer | PackedRecord

  constructor(header: VersionHeader, record: Buffer) {
    this.key = header.key
    this.revision = header.revision
    this.uid = header.uid
    this.labels = header.labels
    this.terminating = header.terminating
    this.itemOffset = header.itemOffset
    this.kind = header.kind
    this.previous = header.previous
    this.revisionOffset = header.revisionOffset
    this.lastOfCommand = header.lastOfCommand
    this.headerBytes = header.headerBytes
    this.#record = record
  }

  /**
   * Shares the texts that other records have too. From then on `bytes` and `record` may be copies.
   */
  pack(): void {
    if (this.#record instanceof PackedRecord) return
    this.#record = new PackedRecord(this.#record, this.headerBytes + this.revisionOffset)
  }

  get bytes(): Uint8Array {
    return this.#from(this.headerBytes)
  }

  get byteLength(): number {
    return this.#record.byteLength - this.headerBytes
  }

  parts(from: number): readonly Uint8Array[] {
    const at = this.headerBytes + from
    return this.#record instanceof PackedRecord ? this.#record.parts(at) : [this.#record.subarray(at)]
  }

  /** The whole record. */
  get record(): Uint8Array {
    return this.#from(0)
  }

  /** Copies the record's hash to `out`. */
  readHash(out: Hash128): Hash128 {
    return readHash(
      this.#record instanceof PackedRecord ? this.#record.head(hashBytes) : this.#record,
      0,
      out,
    )
  }

  #from(at: number): Uint8Array {
    return this.#record instanceof PackedRecord ? this.#record.slice(at) : this.#record.subarray(at)
  }
}

type VersionHeader = Pick<
  Version,
  | 'key'
  | 'revision'
  | 'uid'
  | 'labels'
  | 'terminating'
  | 'itemOffset'
  | 'kind'
  | 'previous'
  | 'revisionOffset'
  | 'lastOfCommand'
  | 'headerBytes'
>

/** Position of a version in the history. */
export type VersionPlace = {
  readonly key: Key
  readonly revision: Revision
  readonly previous: Revision
  readonly lastOfCommand: boolean
}

/** Returns the version that a put creates: the command's bytes with the revision inserted. */
export function putVersion(place: VersionPlace, object: EncodedObject): Version {
  return build({
    place,
    kind: place.previous === 0 ? 'created' : 'updated',
    uid: object.uid,
    labels: object.labels,
    terminating: object.terminating,
    source: object.bytes,
    itemOffset: object.itemOffset,
    revisionOffset: object.revisionOffset,
    digitsReplaced: 0,
  })
}

/** Returns the version that a deletion creates: the last contents under the deletion's revision. */
export function deletedVersion(place: VersionPlace, last: Version): Version {
  assert(place.previous === last.revision, 'a deletion follows the version it deletes')
  return build({
    place,
    kind: 'deleted',
    uid: last.uid,
    labels: last.labels,
    terminating: last.terminating,
    source: last.bytes,
    itemOffset: last.itemOffset,
    revisionOffset: last.revisionOffset,
    digitsReplaced: String(last.revision).length,
  })
}

/** Returns the same object for a new history without predecessors. */
export function movedVersion(version: Version, at: Revision): Version {
  return build({
    place: { key: version.key, revision: at, previous: revisionOf(0), lastOfCommand: true },
    kind: 'created',
    uid: version.uid,
    labels: version.labels,
    terminating: version.terminating,
    source: version.bytes,
    itemOffset: version.itemOffset,
    revisionOffset: version.revisionOffset,
    digitsReplaced: String(version.revision).length,
  })
}

/** Returns the whole record. */
export function recordOf(version: Version): Uint8Array {
  return version.record
}

/** Returns the length of the record of `putVersion`. */
export function putRecordBytes(key: Key, object: EncodedObject, at: Revision): number {
  const labels = object.labels === null ? 0 : Buffer.byteLength(JSON.stringify(object.labels))
  const names = Buffer.byteLength(key) + Buffer.byteLength(object.uid)
  return fixedBytes + names + labels + object.bytes.byteLength + String(at).length
}

export function recordBytes({ headerBytes, byteLength }: Version): number {
  return headerBytes + byteLength
}

/** Copies the record's hash to `out`. */
export function hashOf(version: Version, out: Hash128): Hash128 {
  return version.readHash(out)
}

/**
 * Approximate memory of a version besides its bytes: a typed array, its buffer, the version itself,
 * key and uid strings, and their table slots.
 */
export const versionOverheadBytes = 500

/**
 * Decodes a stored record.
 * @throws DatabaseError `damaged` when its hash is wrong or it is not the expected version
 */
export function decodeVersion(record: Uint8Array, expected: Revision): Version {
  const damaged = (what: string): DatabaseError =>
    new DatabaseError('damaged', `the stored version ${expected} is damaged: ${what}`)
  if (record.byteLength < fixedBytes) throw damaged('too short')
  if (!sameHash(readHash(record, 0, scratch), hash128(record, hashBytes, computed)))
    throw damaged('its hash differs')
  const buffer = Buffer.from(record.buffer, record.byteOffset, record.byteLength)
  const keyAt = fixedBytes
  const uidAt = keyAt + buffer.readUInt16LE(18)
  const labelsAt = uidAt + buffer.readUInt16LE(20)
  const bytesAt = labelsAt + buffer.readUInt32LE(22)
  const kind = kinds[buffer.readUInt8(16)]
  const flags = buffer.readUInt8(17)
  if (kind === undefined) throw damaged('its kind is unknown')
  if (buffer.readDoubleLE(34) !== expected) throw damaged('it is another one')
  const [itemOffset, revisionOffset] = [buffer.readUInt32LE(26), buffer.readUInt32LE(30)]
  if (bytesAt > buffer.length || revisionOffset > buffer.length - bytesAt || itemOffset > revisionOffset) {
    throw damaged('its parts do not fit')
  }
  const previous = buffer.readDoubleLE(42)
  if (!Number.isSafeInteger(previous) || previous < 0) throw damaged('it follows no version')
  const labels = bytesAt === labelsAt ? null : parseLabels(buffer.toString('utf8', labelsAt, bytesAt))
  if (labels === 'none') throw damaged('its labels are invalid')
  const header = {
    key: buffer.toString('utf8', keyAt, uidAt) as Key,
    revision: expected,
    uid: buffer.toString('utf8', uidAt, labelsAt),
    labels,
    terminating: (flags & terminatingFlag) !== 0,
    itemOffset,
    kind,
    previous: revisionOf(previous),
    revisionOffset,
    lastOfCommand: (flags & lastFlag) !== 0,
    headerBytes: bytesAt,
  }
  return new Version(header, buffer)
}

type Parts = {
  readonly place: VersionPlace
  readonly kind: Version['kind']
  readonly uid: string
  readonly labels: Version['labels']
  readonly terminating: boolean
  readonly source: Uint8Array
  readonly itemOffset: number
  readonly revisionOffset: number
  /** Number of digits of an older revision that are replaced. */
  readonly digitsReplaced: number
}

function build(parts: Parts): Version {
  const { place, source, revisionOffset, digitsReplaced } = parts
  const digits = String(place.revision)
  const labels = parts.labels === null ? '' : JSON.stringify(parts.labels)
  const [keyBytes, uidBytes] = [Buffer.byteLength(place.key), Buffer.byteLength(parts.uid)]
  const labelsBytes = labels === '' ? 0 : Buffer.byteLength(labels)
  const headerBytes = fixedBytes + keyBytes + uidBytes + labelsBytes
  const length = headerBytes + source.byteLength + digits.length - digitsReplaced
  // Not pooled: a version may live for years and would keep its neighbours alive.
  const record = Buffer.allocUnsafeSlow(length)
  record.writeUInt8(kinds.indexOf(parts.kind), 16)
  record.writeUInt8((parts.terminating ? terminatingFlag : 0) | (place.lastOfCommand ? lastFlag : 0), 17)
  record.writeUInt16LE(keyBytes, 18)
  record.writeUInt16LE(uidBytes, 20)
  record.writeUInt32LE(labelsBytes, 22)
  record.writeUInt32LE(parts.itemOffset, 26)
  record.writeUInt32LE(revisionOffset, 30)
  record.writeDoubleLE(place.revision, 34)
  record.writeDoubleLE(place.previous, 42)
  record.write(place.key, fixedBytes)
  record.write(parts.uid, fixedBytes + keyBytes)
  if (labelsBytes > 0) record.write(labels, fixedBytes + keyBytes + uidBytes)
  record.set(source.subarray(0, revisionOffset), headerBytes)
  record.write(digits, headerBytes + revisionOffset, 'latin1')
  record.set(source.subarray(revisionOffset + digitsReplaced), headerBytes + revisionOffset + digits.length)
  writeHash(hash128(record, hashBytes, scratch), record, 0)
  const header = {
    key: place.key,
    revision: place.revision,
    uid: parts.uid,
    labels: parts.labels,
    terminating: parts.terminating,
    itemOffset: parts.itemOffset,
    kind: parts.kind,
    previous: place.previous,
    revisionOffset,
    lastOfCommand: place.lastOfCommand,
    headerBytes,
  }
  return new Version(header, record)
}

function parseLabels(text: string): Readonly<Record<string, string>> | 'none' {
  try {
    const value: unknown = JSON.parse(text)
    // The hash was verified, so an object has the labels that were written.
    if (typeof value === 'object' && value !== null) return value as Readonly<Record<string, string>>
  } catch {
    // Not JSON.
  }
  return 'none'
}

const fixedBytes = 50
const kinds = ['created', 'updated', 'deleted'] as const
const terminatingFlag = 1
const lastFlag = 2
const scratch = newHash()
const computed = newHash()
