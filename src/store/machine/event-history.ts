import { assert, present } from '../../../base/assert.ts'
import type { Key, KeyPrefix } from '../key.ts'
import type { StoreEvent } from '../object-store.ts'
import { noRevision, revision } from '../revision.ts'
import type { Revision } from '../revision.ts'
import { addHash, newHash } from './hash.ts'
import type { Hash128 } from './hash.ts'
import { KeyOrder } from './key-order.ts'
import { scopeHashes } from './scope.ts'
import type { Scope } from './scope.ts'
import { hashOf, recordBytes, versionOverheadBytes } from './object-version.ts'
import type { Version } from './object-version.ts'
import type { RecordSlabs } from './record-slabs.ts'

/**
 * The part of an event that memory has for every event in the window, even if its versions are only
 * on disk.
 */
export type EventRecord = {
  readonly revision: Revision
  readonly key: Key
  readonly kind: Version['kind']
  /** The replaced version; 0 for a new object. */
  readonly previous: Revision
  readonly lastOfCommand: boolean
}

/** A key whose object was deleted within the window, possibly repeatedly. */
export type KeyDeletions = {
  readonly key: Key
  /** Revisions of the deletions, ascending; at least one. */
  readonly revisions: readonly Revision[]
}

/** The events that memory keeps with their versions. */
export type HistoryBounds = { readonly events: number; readonly bytes: number }

/**
 * The event log: one event for each revision, without gaps.
 *
 *        trimmed              inMemory               last
 *   ───────┼──────────────────────┼────────────────────┤
 *   gone   │ recorded; versions   │ recorded, and kept │
 *          │ on disk              │ as values          │
 *
 * A record takes about 60 bytes, mostly in typed arrays, so the whole window is searched in memory.
 * A version is removed (from memory, disk and digest) when its successor's event is trimmed; the
 * version that a deletion creates is removed with its own event.
 */
export class History {
  #segments: Segment[] = []
  #trimmed: Revision
  #last: Revision
  /** Events above it are kept as values. */
  #inMemory: Revision
  #heldBytes = 0
  /**
   * The latest events that were read, by revision modulo its size. What watches make of an event is
   * in memory as long as the event.
   */
  readonly #recent = new Array<StoreEvent | undefined>(recentEvents)
  /** About 150 bytes per key; removed when its last deletion is trimmed. */
  readonly #deletions = new KeyOrder<{ readonly key: Key; readonly revisions: Revision[] }>()

  readonly #records: RecordSlabs

  /**
   * An empty history that is trimmed up to the given revision.
   *
   * @param records has the versions once they are packed
   */
  constructor(trimmed: Revision, records: RecordSlabs) {
    this.#records = records
    this.#trimmed = trimmed
    this.#last = trimmed
    this.#inMemory = trimmed
  }

  /**
   * Events at this revision and below are discarded; the state at this revision can still be read.
   */
  get trimmed(): Revision {
    return this.#trimmed
  }

  get last(): Revision {
    return this.#last
  }

  get inMemory(): Revision {
    return this.#inMemory
  }

  /** Bytes of versions that are kept only by events in memory. */
  get heldBytes(): number {
    return this.#heldBytes
  }

  /** @param old the replaced version, if any */
  append(version: Version, old: Version | null): void {
    assert(version.revision === this.#last + 1, 'every revision has one event')
    assert((old?.revision ?? noRevision) === version.previous, 'an event knows the version before it')
    const slot = version.revision % segmentEvents
    let segment = this.#segments[this.#segments.length - 1]
    if (segment === undefined || slot === 0) {
      segment = newSegment(version.revision - slot)
      this.#segments.push(segment)
    }
    segment.keys[slot] = version.key
    segment.previous[slot] = version.previous
    segment.kinds[slot] = kinds.indexOf(version.kind) | (version.lastOfCommand ? lastFlag : 0)
    const hashes = scopeHashes(version.key)
    segment.resources[slot] = hashes.resource
    segment.namespaces[slot] = hashes.namespace
    segment.sums.set(leavingSum(version, old), 4 * slot)
    segment.bytes[slot] = leavingBytes(version, old)
    segment.versions[slot] = version
    segment.replaced[slot] = old
    this.#heldBytes += heldBy(version, old)
    this.#last = version.revision
    if (version.kind === 'deleted') this.#recordDeletion(version.key, version.revision)
  }

  /** @param at within the window: above `trimmed`, at most `last` */
  note(at: Revision): EventRecord {
    assert(at > this.#trimmed && at <= this.#last, 'the event is in the window')
    const segment = this.#segmentOf(at)
    const slot = at % segmentEvents
    const kind = segment.kinds[slot] ?? 0
    return {
      revision: at,
      key: present(segment.keys[slot], 'an event has a key'),
      kind: present(kinds[kind & ~lastFlag], 'an event is of a known kind'),
      previous: revision(segment.previous[slot] ?? 0),
      lastOfCommand: (kind & lastFlag) !== 0,
    }
  }

  /**
   * Returns an event with its versions; null: they are on disk only. Readers of one event within a
   * short time get the same object.
   */
  event(at: Revision): StoreEvent | null {
    assert(at > this.#trimmed && at <= this.#last, 'the event is in the window')
    const segment = this.#segmentOf(at)
    const slot = at % segmentEvents
    const version = segment.versions[slot] ?? null
    if (version === null) return null
    const place = at % recentEvents
    const known = this.#recent[place]
    if (known?.object === version) return known
    const { kind, key } = version
    const event = { kind, revision: at, key, object: version, previous: segment.replaced[slot] ?? null }
    this.#recent[place] = event
    return event
  }

  /** Returns the version that the event replaced; 0 for a new object. */
  previousOf(at: Revision): Revision {
    assert(at > this.#trimmed && at <= this.#last, 'the event is in the window')
    return revision(this.#segmentOf(at).previous[at % segmentEvents] ?? 0)
  }

  /** Returns the version that the event replaced, if that is in memory. */
  replacedBy(at: Revision): Version | null {
    assert(at > this.#trimmed && at <= this.#last, 'the event is in the window')
    return this.#segmentOf(at).replaced[at % segmentEvents] ?? null
  }

  /** Returns the deletions of one key. */
  deletionsOf(key: Key): KeyDeletions | null {
    return this.#deletions.get(key)
  }

  /**
   * Yields the keys under `prefix` after the key `after` that were deleted within the window, in
   * key order.
   */
  deletedKeys(prefix: KeyPrefix, after: Key | null): Generator<KeyDeletions, void> {
    return this.#deletions.walk(prefix, after)
  }

  /** Whether a command ended here, so that a reader may stop after it. */
  endsCommand(at: Revision): boolean {
    return ((this.#segmentOf(at).kinds[at % segmentEvents] ?? 0) & lastFlag) !== 0
  }

  /**
   * Returns the first event of `scope` above `after` and at most at `upTo`. Compares numbers first:
   * a million events take a few milliseconds.
   */
  seek(scope: Scope, after: Revision, upTo: Revision): Revision | null {
    assert(after >= this.#trimmed && upTo <= this.#last, 'the events are in the window')
    let at = after + 1
    while (at <= upTo) {
      const segment = this.#segmentOf(at)
      const end = Math.min(upTo - segment.base, segmentEvents - 1)
      const column = scope.level === 'namespace' ? segment.namespaces : segment.resources
      for (let slot = at - segment.base; slot <= end; slot++) {
        if (scope.level !== 'all' && column[slot] !== scope.hash) continue
        const key = present(segment.keys[slot], 'an event has a key')
        if (key.startsWith(scope.prefix)) return revision(segment.base + slot)
      }
      at = segment.base + segmentEvents
    }
    return null
  }

  /**
   * Discards events up to `upTo`.
   * @param leaving called with each version that becomes unreadable
   * @param freed called for each event with the bytes of the versions that leave with it, all of
   * one key
   * @returns the sum of what the removed versions contributed to the digest
   */
  trim(
    upTo: Revision,
    leaving: (version: Revision) => void,
    freed: (key: Key, bytes: number) => void,
  ): Hash128 {
    assert(upTo > this.#trimmed && upTo <= this.#last, 'what is trimmed was there')
    const sum = newHash()
    const one = newHash()
    for (let at = this.#trimmed + 1; at <= upTo; at++) {
      const note = this.note(revision(at))
      if (note.previous !== 0) leaving(note.previous)
      if (note.kind === 'deleted') leaving(note.revision)
      if (note.kind === 'deleted') this.#forgetDeletion(note.key)
      const slot = at % segmentEvents
      const segment = this.#segmentOf(at)
      one.set(segment.sums.subarray(4 * slot, 4 * slot + 4))
      addHash(sum, one)
      freed(note.key, segment.bytes[slot] ?? 0)
      this.#release(note.revision)
      this.#trimmed = note.revision
    }
    if (this.#inMemory < this.#trimmed) this.#inMemory = this.#trimmed
    while (this.#segments[0] !== undefined && this.#segments[0].base + segmentEvents - 1 <= this.#trimmed) {
      this.#segments.shift()
    }
    return sum
  }

  /**
   * Drops the oldest events from memory until the bounds are met, at most `shrinkEventsMax`.
   * @param onDisk only versions up to here can be read back, so only they are dropped
   * @returns whether the bounds are met, as far as `onDisk` allows
   */
  shrink(onDisk: Revision, bounds: HistoryBounds): boolean {
    for (let dropped = 0; this.#exceeds(bounds) && this.#inMemory < onDisk; dropped++) {
      if (dropped === shrinkEventsMax) return false
      const oldest = revision(this.#inMemory + 1)
      this.#release(oldest)
      this.#inMemory = oldest
    }
    return true
  }

  #exceeds(bounds: HistoryBounds): boolean {
    if (this.#inMemory === this.#last) return false
    return this.#last - this.#inMemory > bounds.events || this.#heldBytes > bounds.bytes
  }

  #recordDeletion(key: Key, at: Revision): void {
    const known = this.#deletions.get(key)
    if (known === null) this.#deletions.set({ key, revisions: [at] })
    else known.revisions.push(at)
  }

  /** Removes the oldest deletion of `key`. */
  #forgetDeletion(key: Key): void {
    const deletions = present(this.#deletions.get(key), 'a deletion in the window is known by its key')
    deletions.revisions.shift()
    if (deletions.revisions.length === 0) this.#deletions.delete(key)
  }

  /** Drops the versions of an event from memory, if they are there. */
  #release(at: Revision): void {
    const segment = this.#segmentOf(at)
    const slot = at % segmentEvents
    const version = segment.versions[slot] ?? null
    if (version === null) return
    const old = segment.replaced[slot] ?? null
    segment.versions[slot] = null
    segment.replaced[slot] = null
    const place = at % recentEvents
    if (this.#recent[place]?.object === version) this.#recent[place] = undefined
    this.#heldBytes -= heldBy(version, old)
    // Nothing else in the state refers to them.
    old?.release(this.#records)
    if (version.kind === 'deleted') version.release(this.#records)
  }

  #segmentOf(at: number): Segment {
    const first = present(this.#segments[0], 'the window has events')
    return present(
      this.#segments[(at - first.base - (at % segmentEvents)) / segmentEvents],
      'the event is in the window',
    )
  }
}

/** Consecutive events, by slot = revision modulo the segment size. */
type Segment = {
  /** Revision of slot 0. */
  readonly base: number
  readonly keys: (Key | undefined)[]
  readonly previous: Float64Array
  readonly kinds: Uint8Array
  readonly resources: Uint32Array
  readonly namespaces: Uint32Array
  /**
   * Four lanes for each event: the sum of the hashes that are subtracted from the digest when the
   * event is trimmed.
   */
  readonly sums: Uint32Array
  /** Bytes of the records of the versions that are removed with the event. */
  readonly bytes: Uint32Array
  /** The version that the event created. null: on disk only. */
  readonly versions: (Version | null | undefined)[]
  /** The version that it replaced, if that is in memory. */
  readonly replaced: (Version | null | undefined)[]
}

const segmentEvents = 1024
/** Events that one turn drops from memory: some 20 ms. */
const shrinkEventsMax = 4096
/**
 * At 2,300 events a second, almost two seconds of them. A watch that is later makes its frames by
 * itself.
 */
const recentEvents = 4096
const kinds = ['created', 'updated', 'deleted'] as const
const lastFlag = 0x80
const noHash = newHash()
const leaving = newHash()
const ownHash = newHash()

function newSegment(base: number): Segment {
  return {
    base,
    keys: new Array<Key | undefined>(segmentEvents),
    previous: new Float64Array(segmentEvents),
    kinds: new Uint8Array(segmentEvents),
    resources: new Uint32Array(segmentEvents),
    namespaces: new Uint32Array(segmentEvents),
    sums: new Uint32Array(4 * segmentEvents),
    bytes: new Uint32Array(segmentEvents),
    versions: new Array<Version | null | undefined>(segmentEvents),
    replaced: new Array<Version | null | undefined>(segmentEvents),
  }
}

function leavingSum(version: Version, old: Version | null): Hash128 {
  if (old === null) leaving.set(noHash)
  else hashOf(old, leaving)
  if (version.kind === 'deleted') addHash(leaving, hashOf(version, ownHash))
  return leaving
}

function leavingBytes(version: Version, old: Version | null): number {
  return (old === null ? 0 : recordBytes(old)) + (version.kind === 'deleted' ? recordBytes(version) : 0)
}

/** A replaced version is referenced by its event only; so is the last version of a deletion. */
function heldBy(version: Version, old: Version | null): number {
  const previous = old === null ? 0 : old.byteLength + versionOverheadBytes
  return version.kind === 'deleted' ? previous + version.byteLength + versionOverheadBytes : previous
}
