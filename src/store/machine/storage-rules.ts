import type { EncodedObject, Operation, Outcome, Settings } from '../command.ts'
import type { Key } from '../key.ts'
import type { StoredObject } from '../object-store.ts'
import { revision } from '../revision.ts'
import type { Revision } from '../revision.ts'
import { isMemberKey } from './member-objects.ts'
import { putRecordBytes } from './object-version.ts'

export type SizeRefusal = Extract<Outcome, { readonly kind: 'too-large' | 'over-quota' }>

/** Inputs of the size rules: from the replicated state, or from what one member has applied. */
export type Fill = {
  readonly settings: Pick<Settings, 'objectBytesMax' | 'storageBytesMax'>
  /** See `StorageUsage`. */
  readonly usedBytes: number
  /** See `MachineState`. */
  readonly alarm: boolean
  readonly revision: Revision
}

/** The sizes of the object that a put replaces. */
export type Replaced = Pick<StoredObject, 'uid' | 'byteLength' | 'revision' | 'terminating'>

/**
 * Default quota. Five minutes of history at full write rate (4,400 records of 1.5 KB a second: 2
 * GB) fit several times in addition to the objects.
 */
export const storageBytesDefault = 8 * 1024 * 1024 * 1024

/** Bytes that a deletion may add to an object, in total: times, a phase, conditions. */
const deletionGrowthBytesMax = 4096

/**
 * Returns the limit for writes that make room in the end, but first add a version to the history.
 * It bounds the history of objects that lose a byte at a time. Once the history of a full storage
 * is trimmed, each object can become smaller again: half of the smallest quota is more than twice
 * the largest object.
 */
export function ceilingOf(storageBytesMax: number): number {
  return storageBytesMax + Math.floor(storageBytesMax / 2)
}

/**
 * Classifies a put for a full storage:
 *
 * - `begins-deletion`: sets the deletion timestamp. Always allowed, as deletions are, or objects
 *   with finalizers could never be deleted. Once per object, so bounded.
 * - `makes-room`: shrinks the object, or hardly grows one that is being deleted. Allowed up to the
 *   ceiling.
 * - `grows`: anything else. Allowed up to the quota.
 *
 * @param old the replaced object; null: there is none
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
 * Whether a put is a small change of a Member object, which is allowed up to the ceiling: the state
 * of the members must be recorded in a full storage, too, as it may explain why the storage is
 * full. Member objects exist since feature level 3.
 */
function isSmallMemberChange(key: Key, old: Replaced | null, object: EncodedObject): boolean {
  if (old?.uid !== object.uid || !isMemberKey(key)) return false
  return object.bytes.byteLength - bytesOf(old) <= memberGrowthBytesMax
}

/** Twice the bytes that the status of a Member can add. */
const memberGrowthBytesMax = 1024

/**
 * Checks whether the size rules let all operations of one command take effect. Changes nothing. A
 * key that an earlier operation of the command wrote counts as new: a write that makes room is the
 * only one on its key.
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
    const kind = isSmallMemberChange(key, old, operation.object)
      ? 'makes-room'
      : putKind(old, operation.object)
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
 * Whether usage begins an alarm, whatever caused it: for example a deletion, a write that makes
 * room, or a smaller quota.
 */
export function beginsAlarm(usedBytes: number, storageBytesMax: number): boolean {
  return usedBytes > storageBytesMax
}

/**
 * Whether usage ends an alarm: below nine tenths of the quota, so that the alarm does not toggle
 * with every write. A refusal below that begins no alarm either: it means that one write is large,
 * not that the storage is full.
 */
export function endsAlarm(usedBytes: number, storageBytesMax: number): boolean {
  return usedBytes * 10 < storageBytesMax * 9
}

/**
 * Returns how many events are kept whatever their age: none in a full storage, or if the largest
 * object would not fit. With a minimum, a storage that is too full for new events would keep the
 * last ones, and their space would never be freed.
 */
export function eventsKept(
  settings: Settings,
  { usedBytes, alarm }: Pick<Fill, 'usedBytes' | 'alarm'>,
): number {
  const { storageBytesMax: quota, objectBytesMax, historyEventsMin } = settings
  const isTight = alarm || (quota !== null && usedBytes + objectBytesMax > quota)
  return isTight ? 0 : historyEventsMin
}

/**
 * Returns the initial quota: large enough that writes like those accepted before are not refused
 * immediately.
 */
export function firstQuota(usedBytes: number): number {
  return Math.max(storageBytesDefault, 2 * usedBytes)
}

/**
 * Returns the maximum size of an object after an update that makes room: the limit plus the growth
 * by a deletion, or the size before the update, because the limit may have been higher when the
 * object was written.
 */
function shrunkMax({ objectBytesMax }: Fill['settings'], old: Replaced): number {
  return Math.max(objectBytesMax + deletionGrowthBytesMax, bytesOf(old))
}

/** Bytes as in a command: without the digits of the revision. */
function bytesOf({ byteLength, revision: at }: Replaced): number {
  return byteLength - String(at).length
}
