import { objectsMember, textMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import { FOREGROUND_FINALIZER, ORPHAN_FINALIZER } from '../api/metadata/object-meta.ts'
import type { Propagation } from '../registry/calls/delete-options.ts'
import { parseStored } from '../registry/kinds/encode.ts'
import type { StoredObject } from '../store/object-store.ts'

/** An entry of `metadata.ownerReferences`. */
export type OwnerReference = {
  readonly apiVersion: string
  readonly kind: string
  readonly name: string
  readonly uid: string
  /** Whether a foreground deletion of the owner waits for this object. */
  readonly blocks: boolean
}

/** The facts of one object that the garbage collector decides by. */
export type OwnedObject = {
  readonly uid: string
  readonly resourceVersion: string
  readonly owners: readonly OwnerReference[]
  /** The treatment of its dependents by its finalizers. */
  readonly policy: Propagation
  readonly terminating: boolean
}

/** Whether the object is being deleted and its finalizer waits for the garbage collector. */
export function isWaiting({ terminating, policy }: OwnedObject): boolean {
  return terminating && policy !== 'Background'
}

/**
 * Whether the garbage collector may have to know the object. Reads bytes only, because it is asked
 * for every write: other objects with these words do no harm.
 */
export function concernsGarbageCollection({ bytes, terminating }: StoredObject): boolean {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (text.includes('"ownerReferences"')) return true
  return terminating && (text.includes(`"${FOREGROUND_FINALIZER}"`) || text.includes(`"${ORPHAN_FINALIZER}"`))
}

export function ownedObjectOf(stored: StoredObject): OwnedObject {
  const { metadata } = parseStored(stored)
  return {
    uid: stored.uid,
    resourceVersion: metadata.resourceVersion ?? '',
    owners: objectsMember(metadata, 'ownerReferences').map(ownerOf),
    policy: policyOf(metadata.finalizers ?? []),
    terminating: stored.terminating,
  }
}

function policyOf(finalizers: readonly string[]): Propagation {
  if (finalizers.includes(ORPHAN_FINALIZER)) return 'Orphan'
  return finalizers.includes(FOREGROUND_FINALIZER) ? 'Foreground' : 'Background'
}

function ownerOf(reference: JsonObject): OwnerReference {
  return {
    apiVersion: textMember(reference, 'apiVersion'),
    kind: textMember(reference, 'kind'),
    name: textMember(reference, 'name'),
    uid: textMember(reference, 'uid'),
    blocks: reference['blockOwnerDeletion'] === true,
  }
}
