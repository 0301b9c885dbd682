import { FOREGROUND_FINALIZER, ORPHAN_FINALIZER } from '../api/metadata/object-meta.ts'
import type { Propagation } from '../registry/calls/delete-options.ts'
import { parseStored } from '../registry/kinds/encode.ts'
import { ownersOf } from '../registry/kinds/owner-reference.ts'
import type { OwnerReference } from '../registry/kinds/owner-reference.ts'
import type { StoredObject } from '../store/object-store.ts'

/** The facts of one object that the garbage collector decides by. */
export type OwnedObject = {
  readonly uid: string
  readonly resourceVersion: string
  readonly owners: readonly OwnerReference[]
  /** The propagation policy that its finalizers stand for. */
  readonly policy: Propagation
  readonly terminating: boolean
}

/** Whether the object is being deleted and its finalizer waits for the garbage collector. */
export function isWaiting({ terminating, policy }: OwnedObject): boolean {
  return terminating && policy !== 'Background'
}

/**
 * Whether the garbage collector may have to know the object. Looks for words in its bytes, because
 * this is called for every write. False positives are harmless.
 */
export function concernsGarbageCollection({ bytes, terminating }: StoredObject): boolean {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  if (text.includes(ownersMember)) return true
  return terminating && finalizers.some((finalizer) => text.includes(finalizer))
}

const ownersMember = Buffer.from('"ownerReferences"')
const finalizers = [FOREGROUND_FINALIZER, ORPHAN_FINALIZER].map((name) => Buffer.from(JSON.stringify(name)))

export function ownedObjectOf(stored: StoredObject): OwnedObject {
  const { metadata } = parseStored(stored)
  return {
    uid: stored.uid,
    resourceVersion: metadata.resourceVersion ?? '',
    owners: ownersOf(metadata),
    policy: policyOf(metadata.finalizers ?? []),
    terminating: stored.terminating,
  }
}

function policyOf(finalizers: readonly string[]): Propagation {
  if (finalizers.includes(ORPHAN_FINALIZER)) return 'Orphan'
  return finalizers.includes(FOREGROUND_FINALIZER) ? 'Foreground' : 'Background'
}
