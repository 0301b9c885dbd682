import type { Operation, Settings } from '../../../src/store/command.ts'
import type { Version } from './version.ts'

/** The storage events of a cluster in one run. */
export type StorageEvent =
  | 'level-2-raised'
  | 'level-3-raised'
  | 'object-too-large'
  | 'over-quota'
  | 'storage-alarm'
  | 'storage-alarm-ended'

/** The part of `Truth` that the size rules need. */
type Known = {
  readonly revision: number
  /** Returns the current version under a store's key; null: none. */
  readonly newest: (key: string) => Version | null
}

type Limits = Pick<Settings, 'objectBytesMax' | 'storageBytesMax'>
type Put = {
  readonly bytes: number
  readonly grows: boolean
  readonly added: number
  readonly bytesMax: number
}

/**
 * Computes the storage rules in force and the size of the storage, in the simplest possible way.
 */
export class StorageModel {
  readonly #met = new Set<StorageEvent>()
  #limits: Limits = { objectBytesMax: Infinity, storageBytesMax: null }
  #level = 1
  #usedBytes = 0
  #alarm = false

  get level(): number {
    return this.#level
  }

  /** Size of all readable versions. */
  get usedBytes(): number {
    return this.#usedBytes
  }

  get alarm(): boolean {
    return this.#alarm
  }

  get met(): ReadonlySet<StorageEvent> {
    return this.#met
  }

  raise(level: number): void {
    this.#met.add(level < 3 ? 'level-2-raised' : 'level-3-raised')
    this.begin(level, this.#limits)
  }

  begin(level: number, limits: Limits): void {
    this.#level = Math.max(this.#level, level)
    this.set(limits)
  }

  set({ objectBytesMax, storageBytesMax }: Limits): void {
    const first = Math.max(8 * 2 ** 30, 2 * this.#usedBytes)
    const given = storageBytesMax ?? this.#limits.storageBytesMax ?? first
    this.#limits = { objectBytesMax, storageBytesMax: this.#level < 2 ? null : given }
    this.look()
  }

  /** Returns whether a command that expects these settings has an effect. */
  expects(expected: Settings | undefined, { historyEventsMin, historyWindowMs }: Window): boolean {
    if (this.#level < 2 || expected === undefined) return true
    return (
      expected.objectBytesMax === this.#limits.objectBytesMax &&
      expected.storageBytesMax === this.#limits.storageBytesMax &&
      expected.historyEventsMin === historyEventsMin &&
      expected.historyWindowMs === historyWindowMs
    )
  }

  made(version: Version): void {
    this.#usedBytes += recordBytes(version)
  }

  gone(version: Version): void {
    this.#usedBytes -= recordBytes(version)
  }

  /** Updates the alarm after a change. */
  look(): void {
    const quota = this.#limits.storageBytesMax ?? Infinity
    if (this.#usedBytes * 10 < quota * 9) this.#setAlarm(false)
    else if (this.#usedBytes > quota) this.#setAlarm(true)
  }

  /**
   * Returns how many events are kept regardless of their age: as many as the settings demand, but
   * none when little space is left.
   */
  eventsKept(eventsMin: number): number {
    const { objectBytesMax, storageBytesMax } = this.#limits
    return this.#alarm || this.#usedBytes + objectBytesMax > (storageBytesMax ?? Infinity) ? 0 : eventsMin
  }

  /**
   * Returns whether sizes refuse a write whose conditions hold; such a write changes only the
   * alarm.
   */
  refuses(operations: readonly Operation[], known: Known): boolean {
    const quota = this.#limits.storageBytesMax
    if (this.#level < 2 || quota === null) return false
    const puts = operations.flatMap((_, at) => this.#put(operations, at, known) ?? [])
    if (puts.some(({ bytes, bytesMax }) => bytes > bytesMax)) {
      this.#met.add('object-too-large')
      return true
    }
    const sum = (of: readonly Put[]): number => of.reduce((bytes, { added }) => bytes + added, 0)
    const growing = puts.filter(({ grows }) => grows)
    const isFull = growing.length > 0 && (this.#alarm || this.#usedBytes + sum(growing) > quota)
    const isAbove = puts.length > 0 && this.#usedBytes + sum(puts) > Math.floor(1.5 * quota)
    if (!isFull && !isAbove) return false
    this.#met.add('over-quota')
    // A refused write of a large object does not prove that small ones do not fit.
    if (this.#usedBytes * 10 >= quota * 9) this.#setAlarm(true)
    return true
  }

  /** @returns null for what sizes never refuse: deletions, and the update that requests one */
  #put(operations: readonly Operation[], at: number, { revision, newest }: Known): Put | null {
    const operation = operations[at]
    if (operation === undefined || operation.kind === 'delete') return null
    const { key, object } = operation
    const found = operations.slice(0, at).some((other) => other.key === key) ? null : newest(key)
    const old = found?.uid === object.uid ? found : null
    const bytes = object.bytes.byteLength
    const oldBytes = old?.bytes.byteLength ?? 0
    const isDeletion = old !== null && object.terminating && bytes <= oldBytes + deletionBytes
    const isMemberReport = old !== null && memberKey.test(key) && bytes <= oldBytes + memberBytes
    if (isDeletion && !old.terminating && !isMemberReport) return null
    const grows = old === null || (bytes >= oldBytes && !isDeletion && !isMemberReport)
    const { objectBytesMax } = this.#limits
    const bytesMax = grows ? objectBytesMax : Math.max(objectBytesMax + deletionBytes, oldBytes)
    return { bytes, grows, bytesMax, added: recordBytes({ key, revision: revision + 1 + at, ...object }) }
  }

  #setAlarm(alarm: boolean): void {
    if (alarm !== this.#alarm) this.#met.add(alarm ? 'storage-alarm' : 'storage-alarm-ended')
    this.#alarm = alarm
  }
}

type Window = Pick<Settings, 'historyEventsMin' | 'historyWindowMs'>

/** Bytes that a deletion in progress may add to an object. */
const deletionBytes = 4096

/** Bytes by which an update may enlarge a Member object although the storage is full. */
const memberBytes = 1024
const memberKey = /^cluster\.(orch|k8s)\.io\/members\//

/** Returns the size of the stored record of a version: a header of 50 bytes, then its parts. */
function recordBytes({ key, revision, uid, labels, bytes }: Sized): number {
  const texts = [key, uid, labels === null ? '' : JSON.stringify(labels), String(revision)]
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 50 + bytes.byteLength)
}

type Sized = Pick<Version, 'key' | 'revision' | 'uid' | 'labels' | 'bytes'>
