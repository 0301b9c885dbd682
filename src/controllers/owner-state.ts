import type { Catalog } from '../registry/kinds/catalog.ts'
import { isElsewhere, ownerPlace } from '../registry/kinds/owner-reference.ts'
import type { OwnerReference } from '../registry/kinds/owner-reference.ts'
import type { View } from '../store/object-store.ts'
import type { OwnerGraph } from './owner-graph.ts'

/**
 * The state of an owner: `unknown` if its kind is not known, `misplaced` if a cluster-scoped object
 * names an owner in a namespace. An object with such an owner stays.
 */
export type OwnerState = 'exists' | 'waits-for-dependents' | 'absent' | 'unknown' | 'misplaced'

export type OwnerLookup = { readonly catalog: Catalog; readonly view: View; readonly graph: OwnerGraph }

/**
 * Returns the state of the owner that a reference names, in the namespace of the dependent or among
 * the cluster-scoped objects. An object of the same name with another uid is not the owner.
 *
 * @param namespace of the dependent; empty: it is cluster-scoped
 */
export function ownerState(
  { catalog, view, graph }: OwnerLookup,
  owner: OwnerReference,
  namespace: string,
): OwnerState {
  // The kind of the owner may be gone too.
  if (graph.isGone(owner.uid, namespace)) return 'absent'
  const place = ownerPlace(catalog, owner, namespace)
  switch (place.kind) {
    case 'unknown-kind':
      return 'unknown'
    case 'misplaced':
      return 'misplaced'
    case 'impossible-name':
      return 'absent'
    case 'key': {
      if (view.get(place.key)?.uid !== owner.uid) return 'absent'
      return graph.isDeletedInForeground(owner.uid) ? 'waits-for-dependents' : 'exists'
    }
  }
}

/**
 * Maximum number of remembered references whose owner was found in no namespace, like most absent
 * owners. When full: cleared.
 */
const nowhereMax = 1000

/** Finds owners that are absent because they are in another namespace than their dependents. */
export class OwnersElsewhere {
  readonly #nowhere = new Set<string>()

  /** @param namespace of the dependent */
  has({ catalog, view, graph }: OwnerLookup, owner: OwnerReference, namespace: string): boolean {
    if (graph.isGone(owner.uid, namespace)) return false
    const place = ownerPlace(catalog, owner, namespace)
    if (place.kind !== 'key') return false
    const { apiVersion, kind, name, uid } = owner
    const reference = JSON.stringify([apiVersion, kind, name, uid])
    if (this.#nowhere.has(reference)) return false
    if (isElsewhere(view, place.key, uid)) return true
    // No later object has this uid.
    if (this.#nowhere.size >= nowhereMax) this.#nowhere.clear()
    this.#nowhere.add(reference)
    return false
  }
}
