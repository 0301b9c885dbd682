import type { Operation, Settings } from '../../../src/store/command.ts'
import type { Version } from './truth.ts'

/** The storage events of a cluster in one run. */
export type StorageEvent =
  | 'level-2-raised'
  | 'level-3-raised'
  | 'object-too-large'
  | 'over-quota'
  | 'storage-alarm'
  | 'storage-alarm-ended'

/** What of the truth the rules of sizes ask for. */
type Known = {
  readonly revision: number
  /** The object under a store's key now; null: none. */
  readonly newest: (key: string) => Version | null
}

type Limits = Pick<Settings, 'objectBytesMax' | 'storageBytesMax'>
type Put = {
  readonly bytes: number
  readonly grows: boolean
  readonly added: number
  readonly bytesMax: number
}

/** Which rules hold, and what the storage holds by them: the shortest program that can tell. */
export class StorageModel {
  readonly #met = new Set<StorageEvent>()
  #limits: Limits = { objectBytesMax: Infinity, storageBytesMax: null }
  #level = 1
  #usedBytes = 0
  #alarm = false

  get level(): number {
    return this.#level
  }

  /** Of all versions that can still be read. */
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

  /** Whether a command whose settings had to be these has an effect. */
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

  /** After whatever changed it. */
  look(): void {
    const quota = this.#limits.storageBytesMax ?? Infinity
    if (this.#usedBytes * 10 < quota * 9) this.#ring(false)
    else if (this.#usedBytes > quota) this.#ring(true)
  }

  /**
   * How many events stay however old they are, of those that the settings keep: none where little
   * room is left.
   */
  eventsKept(eventsMin: number): number {
    const { objectBytesMax, storageBytesMax } = this.#limits
    return this.#alarm || this.#usedBytes + objectBytesMax > (storageBytesMax ?? Infinity) ? 0 : eventsMin
  }

  /** Whether sizes refuse a write whose conditions hold; what it changes is the alarm alone. */
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
    // One that is large tells nothing of those that are small.
    if (this.#usedBytes * 10 >= quota * 9) this.#ring(true)
    return true
  }

  /** null for what sizes never refuse: deletions, and the first word of one. */
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

  #ring(alarm: boolean): void {
    if (alarm !== this.#alarm) this.#met.add(alarm ? 'storage-alarm' : 'storage-alarm-ended')
    this.#alarm = alarm
  }
}

type Window = Pick<Settings, 'historyEventsMin' | 'historyWindowMs'>

/** What being deleted may add to an object. */
const deletionBytes = 4096

/** What the state of a member may add to its object. */
const memberBytes = 1024
const memberKey = /^cluster\.(orch|k8s)\.io\/members\//

/** As the record of a version lies on disk: a header of 50 bytes, then its parts. */
function recordBytes({ key, revision, uid, labels, bytes }: Sized): number {
  const texts = [key, uid, labels === null ? '' : JSON.stringify(labels), String(revision)]
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 50 + bytes.byteLength)
}

type Sized = Pick<Version, 'key' | 'revision' | 'uid' | 'labels' | 'bytes'>
