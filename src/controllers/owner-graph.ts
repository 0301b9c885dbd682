import type { Propagation } from '../registry/calls/delete-options.ts'
import type { Key } from '../store/key.ts'
import { isWaiting } from './owned-object.ts'
import type { OwnedObject } from './owned-object.ts'

type Dependents = {
  readonly keys: Set<Key>
  /** The number of dependents that a foreground deletion waits for. */
  blocking: number
  /** Namespace of the deleted owner; empty: cluster-scoped. null: no deletion was seen. */
  goneFrom: string | null
}

/** The dependents of each owner, by its uid. Bounded by the number of owner references. */
export class OwnerGraph {
  readonly #dependents = new Map<string, Dependents>()
  /** Objects that are being deleted and wait for their dependents, by uid. */
  readonly #waiting = new Map<string, { readonly key: Key; readonly policy: Propagation }>()

  /** Replaces what is known of an object. @param after null: it is gone, or need not be known */
  change(key: Key, before: OwnedObject | null, after: OwnedObject | null): void {
    if (before !== null) this.#remove(key, before)
    if (after !== null) this.#add(key, after)
  }

  dependentsOf(uid: string): readonly Key[] {
    return [...(this.#dependents.get(uid)?.keys ?? [])]
  }

  hasDependents(uid: string): boolean {
    return this.#dependents.has(uid)
  }

  /** Whether a foreground deletion of the object has begun. */
  isDeletedInForeground(uid: string): boolean {
    return this.deletedInForeground(uid) !== null
  }

  /** Returns the key of an object if its foreground deletion has begun. */
  deletedInForeground(uid: string): Key | null {
    const waiting = this.#waiting.get(uid)
    return waiting?.policy === 'Foreground' ? waiting.key : null
  }

  /** Remembers that an owner is deleted, for as long as it has dependents. */
  ownerGone(uid: string, namespace: string): void {
    const known = this.#dependents.get(uid)
    if (known !== undefined) known.goneFrom = namespace
  }

  /** Forgets the deletions of owners: another state has replaced the one in which they happened. */
  forgetGone(): void {
    for (const known of this.#dependents.values()) known.goneFrom = null
  }

  /**
   * Whether the owner of an object was seen to be deleted: a uid is never used again.
   *
   * @param namespace of the object; empty: it is cluster-scoped
   */
  isGone(uid: string, namespace: string): boolean {
    const from = this.#dependents.get(uid)?.goneFrom ?? null
    return from === '' || (from !== null && from === namespace)
  }

  isBlocked(uid: string): boolean {
    return (this.#dependents.get(uid)?.blocking ?? 0) > 0
  }

  /** Returns those of the owners that wait for dependents and are not blocked any more. */
  released(uids: readonly string[]): readonly Key[] {
    return uids.flatMap((uid) => {
      const waiting = this.#waiting.get(uid)
      return waiting === undefined || this.isBlocked(uid) ? [] : [waiting.key]
    })
  }

  #add(key: Key, object: OwnedObject): void {
    if (isWaiting(object)) this.#waiting.set(object.uid, { key, policy: object.policy })
    for (const [uid, blocks] of ownersOf(object)) {
      const known = this.#dependents.get(uid) ?? { keys: new Set(), blocking: 0, goneFrom: null }
      this.#dependents.set(uid, known)
      known.keys.add(key)
      if (blocks) known.blocking++
    }
  }

  #remove(key: Key, object: OwnedObject): void {
    if (this.#waiting.get(object.uid)?.key === key) this.#waiting.delete(object.uid)
    for (const [uid, blocks] of ownersOf(object)) {
      const known = this.#dependents.get(uid)
      if (known?.keys.delete(key) !== true) continue
      if (blocks) known.blocking--
      if (known.keys.size === 0) this.#dependents.delete(uid)
    }
  }
}

/** Returns each owner once, and whether any of the references to it blocks. */
function ownersOf({ owners }: OwnedObject): ReadonlyMap<string, boolean> {
  const blocks = new Map<string, boolean>()
  for (const owner of owners) blocks.set(owner.uid, owner.blocks || blocks.get(owner.uid) === true)
  return blocks
}
