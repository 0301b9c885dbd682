import { assert, present } from '../../../base/assert.ts'
import { copied } from '../../../base/copied.ts'
import type { EncodedObject } from '../command.ts'
import { DatabaseError } from '../store-errors.ts'
import type { Key } from '../key.ts'
import type { StoredObject } from '../object-store.ts'
import { revision as revisionOf } from '../revision.ts'
import type { Revision } from '../revision.ts'
import { hash128, hashBytes, newHash, readHash, sameHash, writeHash } from './hash.ts'
import type { Hash128 } from './hash.ts'
import { Slab } from './slab.ts'
import type { RecordSlabs } from './record-slabs.ts'
import type { RecordOwner } from './slab.ts'

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
export class Version implements StoredObject, RecordOwner {
  readonly key: Key
  readonly revision: Revision
  /** Parsed: selectors read them for each object of a list. Everything else is in the record. */
  readonly labels: StoredObject['labels']
  /** A buffer until `pack`: the newest versions are read most, by the response and by watches. */
  #memory: Buffer | Slab
  /** Place in the slab; `released` after the release. */
  #at = 0

  constructor(header: Pick<Version, 'key' | 'revision' | 'labels'>, record: Buffer) {
    this.key = header.key
    this.revision = header.revision
    this.labels = header.labels
    this.#memory = record
  }

  /**
   * Copies the record to the memory of all records, without the texts that others have too. From
   * then on `bytes` and `record` may be copies. Does nothing the second time.
   */
  pack(slabs: RecordSlabs): void {
    if (this.#memory instanceof Slab || this.#at === released) return
    slabs.add(this, this.#memory, this.headerBytes + this.revisionOffset)
  }

  /** Called once when the state does not refer to it anymore. A reader may still have it. */
  release(slabs: RecordSlabs): void {
    assert(this.#at !== released, 'a version is released once')
    if (this.#memory instanceof Slab) this.#memory = slabs.release(this.#memory, this.#at)
    this.#at = released
  }

  movedTo(slab: Slab, at: number): void {
    this.#memory = slab
    this.#at = at
  }

  get kind(): 'created' | 'updated' | 'deleted' {
    return present(kinds[this.#u8(kindAt)], 'a record has a known kind')
  }

  /** The replaced version; 0 for `created`. */
  get previous(): Revision {
    return revisionOf(this.#head.readDoubleLE(this.#start + previousAt))
  }

  get terminating(): boolean {
    return (this.#u8(flagsAt) & terminatingFlag) !== 0
  }

  /** Whether it is the last event of its command: readers of events stop only after such ones. */
  get lastOfCommand(): boolean {
    return (this.#u8(flagsAt) & lastFlag) !== 0
  }

  get uid(): string {
    const [head, start] = [this.#head, this.#start]
    const uidAt = start + fixedBytes + head.readUInt16LE(start + keyBytesAt)
    return head.toString('utf8', uidAt, uidAt + head.readUInt16LE(start + uidBytesAt))
  }

  get itemOffset(): number {
    return this.#u32(itemOffsetAt)
  }

  get revisionOffset(): number {
    return this.#u32(revisionOffsetAt)
  }

  /** Length of the record before `bytes`. */
  get headerBytes(): number {
    const [head, start] = [this.#head, this.#start]
    const names = head.readUInt16LE(start + keyBytesAt) + head.readUInt16LE(start + uidBytesAt)
    return fixedBytes + names + head.readUInt32LE(start + labelsBytesAt)
  }

  get bytes(): Uint8Array {
    return this.#from(this.headerBytes)
  }

  get byteLength(): number {
    return this.recordBytes - this.headerBytes
  }

  copyTo(target: Uint8Array, to: number, from: number): number {
    const memory = this.#memory
    const start = this.headerBytes + from
    if (memory instanceof Slab) return memory.copyTo(target, to, { at: this.#at, from: start })
    return copied(memory.subarray(start), target, to)
  }

  get beginning(): Uint8Array {
    const memory = this.#memory
    return memory instanceof Slab ? memory.beginning(this.#at, this.headerBytes) : this.bytes
  }

  /** The whole record. */
  get record(): Uint8Array {
    return this.#from(0)
  }

  /** Length of `record`. */
  get recordBytes(): number {
    const memory = this.#memory
    return memory instanceof Slab ? memory.byteLengthOf(this.#at) : memory.byteLength
  }

  /** Copies the record's hash to `out`. */
  readHash(out: Hash128): Hash128 {
    return readHash(this.#head, this.#start, out)
  }

  /** Has the header of the record at `#start`. */
  get #head(): Buffer {
    const memory = this.#memory
    return memory instanceof Slab ? memory.bytes : memory
  }

  get #start(): number {
    const memory = this.#memory
    return memory instanceof Slab ? memory.startOf(this.#at) : 0
  }

  #u8(at: number): number {
    return this.#head.readUInt8(this.#start + at)
  }

  #u32(at: number): number {
    return this.#head.readUInt32LE(this.#start + at)
  }

  #from(at: number): Uint8Array {
    const memory = this.#memory
    return memory instanceof Slab ? memory.slice(this.#at, at) : memory.subarray(at)
  }
}

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

export function recordBytes(version: Version): number {
  return version.recordBytes
}

/** Copies the record's hash to `out`. */
export function hashOf(version: Version, out: Hash128): Hash128 {
  return version.readHash(out)
}

/**
 * Approximate memory of a version besides its bytes: the version itself, its slots in lists, and
 * the unused part of a slab.
 */
export const versionOverheadBytes = 250

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
  const uidAt = fixedBytes + buffer.readUInt16LE(keyBytesAt)
  const labelsAt = uidAt + buffer.readUInt16LE(uidBytesAt)
  const bytesAt = labelsAt + buffer.readUInt32LE(labelsBytesAt)
  if (buffer.readUInt8(kindAt) >= kinds.length) throw damaged('its kind is unknown')
  if (buffer.readDoubleLE(ownRevisionAt) !== expected) throw damaged('it is another one')
  const itemOffset = buffer.readUInt32LE(itemOffsetAt)
  const revisionOffset = buffer.readUInt32LE(revisionOffsetAt)
  if (bytesAt > buffer.length || revisionOffset > buffer.length - bytesAt || itemOffset > revisionOffset) {
    throw damaged('its parts do not fit')
  }
  const previous = buffer.readDoubleLE(previousAt)
  if (!Number.isSafeInteger(previous) || previous < 0) throw damaged('it follows no version')
  const labels = bytesAt === labelsAt ? null : parseLabels(buffer.toString('utf8', labelsAt, bytesAt))
  if (labels === 'none') throw damaged('its labels are invalid')
  const key = buffer.toString('utf8', fixedBytes, uidAt) as Key
  return new Version({ key, revision: expected, labels }, buffer)
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
  // Pooled with others of about the same age: it is needed until the version is packed.
  const record = Buffer.allocUnsafe(length)
  const flags = (parts.terminating ? terminatingFlag : 0) | (place.lastOfCommand ? lastFlag : 0)
  record.writeUInt8(kinds.indexOf(parts.kind), kindAt)
  record.writeUInt8(flags, flagsAt)
  record.writeUInt16LE(keyBytes, keyBytesAt)
  record.writeUInt16LE(uidBytes, uidBytesAt)
  record.writeUInt32LE(labelsBytes, labelsBytesAt)
  record.writeUInt32LE(parts.itemOffset, itemOffsetAt)
  record.writeUInt32LE(revisionOffset, revisionOffsetAt)
  record.writeDoubleLE(place.revision, ownRevisionAt)
  record.writeDoubleLE(place.previous, previousAt)
  record.write(place.key, fixedBytes)
  record.write(parts.uid, fixedBytes + keyBytes)
  if (labelsBytes > 0) record.write(labels, fixedBytes + keyBytes + uidBytes)
  record.set(source.subarray(0, revisionOffset), headerBytes)
  record.write(digits, headerBytes + revisionOffset, 'latin1')
  record.set(source.subarray(revisionOffset + digitsReplaced), headerBytes + revisionOffset + digits.length)
  writeHash(hash128(record, hashBytes, scratch), record, 0)
  return new Version({ key: keyIn(record, place), revision: place.revision, labels: parts.labels }, record)
}

/**
 * Returns the key of a new version: that of the version before it, if any. The key of a command may
 * be part of a longer text, which would stay in memory with it.
 */
function keyIn(record: Buffer, { key, previous }: VersionPlace): Key {
  if (previous !== 0) return key
  return record.toString('utf8', fixedBytes, fixedBytes + record.readUInt16LE(keyBytesAt)) as Key
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

/** Positions in a record. */
const [kindAt, flagsAt, keyBytesAt, uidBytesAt, labelsBytesAt] = [16, 17, 18, 20, 22]
const [itemOffsetAt, revisionOffsetAt, ownRevisionAt, previousAt] = [26, 30, 34, 42]
const fixedBytes = 50
/** Instead of a place: the version has a buffer again, or still. */
const released = -1
const kinds = ['created', 'updated', 'deleted'] as const
const terminatingFlag = 1
const lastFlag = 2
const scratch = newHash()
const computed = newHash()
