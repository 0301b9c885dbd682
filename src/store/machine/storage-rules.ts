import type { EncodedObject, Operation, Outcome } from '../command.ts'
import type { Key } from '../key.ts'
import type { StoredObject } from '../object-store.ts'
import { revision } from '../revision.ts'
import type { MachineState } from './state.ts'
import { putRecordBytes } from './version.ts'

export type SizeRefusal = Extract<Outcome, { readonly kind: 'too-large' | 'over-quota' }>

/**
 * The quota of a cluster that was never told one. Five minutes of history at full write rate (4,400 records of
 * 1.5 KB a second: 2 GB) fit several times beside the objects.
 */
export const storageBytesDefault = 8 * 1024 * 1024 * 1024

/** What marking an object as being deleted may add to it: times, a phase, conditions that tell how it goes. */
const deletionGrowthBytesMax = 4096

/**
 * Whether a put makes room, or belongs to a deletion: an object that gets smaller, or one that is being deleted and
 * hardly grows. Taking a finalizer off is both. Allowed however full the storage is, or nothing could ever be deleted
 * that something holds.
 *
 * @param old what it replaces; null: nothing
 */
export function makesRoom(
  old: Pick<StoredObject, 'uid' | 'bytes' | 'revision'> | null,
  object: EncodedObject,
): boolean {
  if (old?.uid !== object.uid) return false
  const growth = object.bytes.byteLength - (old.bytes.byteLength - String(old.revision).length)
  return growth < 0 || (object.terminating && growth <= deletionGrowthBytesMax)
}

/**
 * Whether sizes let all operations of one command take effect. Changes nothing. A key that an earlier operation of
 * the command wrote to counts as new: what makes room comes alone.
 *
 * @returns null: they do
 */
export function sizeRefusalOf(state: MachineState, operations: readonly Operation[]): SizeRefusal | null {
  const { objectBytesMax, storageBytesMax } = state.settings
  const touched = new Set<Key>()
  let added = 0
  for (const [at, operation] of operations.entries()) {
    const { key } = operation
    const old = touched.has(key) ? null : state.objects.get(key)
    if (operations.length > 1) touched.add(key)
    if (operation.kind === 'delete' || makesRoom(old, operation.object)) continue
    const bytes = operation.object.bytes.byteLength
    if (bytes > objectBytesMax) return { kind: 'too-large', operation: at, bytes, bytesMax: objectBytesMax }
    added += putRecordBytes(key, operation.object, revision(state.revision + at + 1))
  }
  if (added === 0 || storageBytesMax === null) return null
  const usedBytes = state.usage.bytes
  if (!state.storageAlarm && usedBytes + added <= storageBytesMax) return null
  return { kind: 'over-quota', usedBytes, bytesMax: storageBytesMax }
}

/** An alarm ends below nine tenths of the quota, so that it does not come and go with every write. */
export function endsAlarm(usedBytes: number, storageBytesMax: number): boolean {
  return usedBytes * 10 < storageBytesMax * 9
}

/** The quota that begins with the rules: nobody is refused right away who was not before. */
export function firstQuota(usedBytes: number): number {
  return Math.max(storageBytesDefault, 2 * usedBytes)
}
