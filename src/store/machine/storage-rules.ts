import type { EncodedObject, Operation, Outcome, Settings } from '../command.ts'
import type { Key } from '../key.ts'
import type { StoredObject } from '../object-store.ts'
import { revision } from '../revision.ts'
import type { Revision } from '../revision.ts'
import { isMemberKey } from './member-objects.ts'
import { putRecordBytes } from './object-version.ts'

export type SizeRefusal = Extract<Outcome, { readonly kind: 'too-large' | 'over-quota' }>

/** What sizes are decided by. Of the replicated state, or of what one member has applied of it. */
export type Fill = {
  readonly settings: Pick<Settings, 'objectBytesMax' | 'storageBytesMax'>
  /** See `StorageUsage`. */
  readonly usedBytes: number
  /** See `MachineState`. */
  readonly alarm: boolean
  readonly revision: Revision
}

/** What a put replaces, as far as sizes go. */
export type Replaced = Pick<StoredObject, 'uid' | 'bytes' | 'revision' | 'terminating'>

/**
 * The quota of a cluster that was never told one. Five minutes of history at full write rate (4,400
 * records of 1.5 KB a second: 2 GB) fit several times beside the objects.
 */
export const storageBytesDefault = 8 * 1024 * 1024 * 1024

/**
 * What being deleted may add to an object, all in all: times, a phase, conditions that tell how it
 * goes.
 */
const deletionGrowthBytesMax = 4096

/**
 * Up to here goes what makes room in the end, but adds a version to the history first. A bound of
 * its own, or objects that lose a byte at a time would add history without end. Large enough that,
 * once the history of a full storage is forgotten, each object can become smaller again: half of
 * the smallest quota is more than twice the largest object.
 */
export function ceilingOf(storageBytesMax: number): number {
  return storageBytesMax + Math.floor(storageBytesMax / 2)
}

/**
 * What a put is to a full storage:
 *
 * - `begins-deletion`: the first to say that the object is being deleted. Allowed however full the storage is, as
 *   deletions are, or nothing could ever be deleted that something holds. Once for each object, so bounded by what
 *   there is.
 * - `makes-room`: the object gets smaller, or is being deleted and hardly grows. Allowed up to the ceiling.
 * - `grows`: all else. Allowed up to the quota.
 *
 * @param old what it replaces; null: nothing
 */
export function putKind(
  old: Replaced | null,
  object: EncodedObject,
): 'begins-deletion' | 'makes-room' | 'grows' {
  if (old?.uid !== object.uid) return 'grows'
  const growth = object.bytes.byteLength - bytesOf(old)
  const isDeletion = object.terminating && growth <= deletionGrowthBytesMax
  if (isDeletion && !old.terminating) return 'begins-deletion'
  return growth < 0 || isDeletion ? 'makes-room' : 'grows'
}

/**
 * Who leads and who is well has to be told in a full storage too, to the ceiling: it may be why the
 * storage is full. Only what changes an object of a member, and makes it a little larger at most.
 * Before feature level 3 there are none.
 */
function tellsOfMember(key: Key, old: Replaced | null, object: EncodedObject): boolean {
  if (old?.uid !== object.uid || !isMemberKey(key)) return false
  return object.bytes.byteLength - bytesOf(old) <= memberGrowthBytesMax
}

/** Twice what its status can add. */
const memberGrowthBytesMax = 1024

/**
 * Whether sizes let all operations of one command take effect. Changes nothing. A key that an
 * earlier operation of the command wrote to counts as new: what makes room comes alone.
 *
 * @returns null: they do
 */
export function sizeRefusalOf(
  fill: Fill,
  get: (key: Key) => Replaced | null,
  operations: readonly Operation[],
): SizeRefusal | null {
  const { settings, usedBytes } = fill
  const touched = new Set<Key>()
  let growing = 0
  let bounded = 0
  for (const [at, operation] of operations.entries()) {
    const { key } = operation
    const old = touched.has(key) ? null : get(key)
    if (operations.length > 1) touched.add(key)
    if (operation.kind === 'delete') continue
    const kind = tellsOfMember(key, old, operation.object) ? 'makes-room' : putKind(old, operation.object)
    if (kind === 'begins-deletion') continue
    const bytes = operation.object.bytes.byteLength
    const bytesMax = kind === 'grows' || old === null ? settings.objectBytesMax : shrunkMax(settings, old)
    if (bytes > bytesMax) return { kind: 'too-large', operation: at, bytes, bytesMax }
    const added = putRecordBytes(key, operation.object, revision(fill.revision + at + 1))
    bounded += added
    if (kind === 'grows') growing += added
  }
  const quota = settings.storageBytesMax
  if (quota === null || bounded === 0) return null
  const overQuota = growing > 0 && (fill.alarm || usedBytes + growing > quota)
  if (overQuota) return { kind: 'over-quota', usedBytes, bytesMax: quota }
  const ceiling = ceilingOf(quota)
  return usedBytes + bounded > ceiling ? { kind: 'over-quota', usedBytes, bytesMax: ceiling } : null
}

/**
 * Beyond it an alarm begins, however it came to that: what makes room may have done it, or a
 * smaller quota.
 */
export function beginsAlarm(usedBytes: number, storageBytesMax: number): boolean {
  return usedBytes > storageBytesMax
}

/**
 * An alarm ends below nine tenths of the quota, so that it does not come and go with every write.
 * Nor does a refusal begin one there: it says that one write is large, not that the storage is
 * full.
 */
export function endsAlarm(usedBytes: number, storageBytesMax: number): boolean {
  return usedBytes * 10 < storageBytesMax * 9
}

/**
 * How many events of history stay whatever their age. None in a full storage, and none where the
 * largest object would find no room: no events may come that would make those at the floor old, and
 * their space would never come back.
 */
export function eventsKept(
  settings: Settings,
  { usedBytes, alarm }: Pick<Fill, 'usedBytes' | 'alarm'>,
): number {
  const { storageBytesMax: quota, objectBytesMax, historyEventsMin } = settings
  const isTight = alarm || (quota !== null && usedBytes + objectBytesMax > quota)
  return isTight ? 0 : historyEventsMin
}

/** The quota that begins with the rules: nobody is refused right away who was not before. */
export function firstQuota(usedBytes: number): number {
  return Math.max(storageBytesDefault, 2 * usedBytes)
}

/**
 * How large an object may be that was there before. The limit may have been larger once; and what a
 * deletion adds, it adds to the limit, not to what was added already.
 */
function shrunkMax({ objectBytesMax }: Fill['settings'], old: Replaced): number {
  return Math.max(objectBytesMax + deletionGrowthBytesMax, bytesOf(old))
}

/** As a command would carry it: without the digits of the revision. */
function bytesOf({ bytes, revision: at }: Replaced): number {
  return bytes.byteLength - String(at).length
}
