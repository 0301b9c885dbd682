import { parseGroupVersion } from '../api/metadata/group-version.ts'
import type { Catalog } from '../registry/kinds/catalog.ts'
import { isStored, placeOf } from '../registry/kinds/definition.ts'
import { keyOf } from '../store/key.ts'
import type { View } from '../store/object-store.ts'
import type { OwnerReference } from './owned-object.ts'
import type { OwnerGraph } from './owner-graph.ts'

/**
 * The state of an owner: `unknown` if its kind is not known, or if a cluster-scoped object names an
 * owner in a namespace. An object with an unknown owner stays.
 */
export type OwnerState = 'exists' | 'waits-for-dependents' | 'absent' | 'unknown'

/**
 * Finds the owner that a reference names, in the namespace of the dependent or among the
 * cluster-scoped objects. Another object of the same name is not the owner.
 *
 * @param namespace of the dependent; empty: it is cluster-scoped
 */
export function ownerState(
  { catalog, view, graph }: { readonly catalog: Catalog; readonly view: View; readonly graph: OwnerGraph },
  owner: OwnerReference,
  namespace: string,
): OwnerState {
  // Its kind may be gone with it.
  if (graph.isGone(owner.uid)) return 'absent'
  const group = parseGroupVersion(owner.apiVersion)?.group
  const kind = catalog
    .withUnserved()
    .find((one) => one.group === group && one.kind === owner.kind && isStored(one))
  if (kind === undefined || (kind.scope === 'Namespaced' && namespace === '')) return 'unknown'
  // No object has such a name.
  if (owner.name.includes('/')) return 'absent'
  const place = { ...placeOf(kind), namespace: kind.scope === 'Namespaced' ? namespace : '' }
  const stored = view.get(keyOf({ ...place, name: owner.name }))
  if (stored?.uid !== owner.uid) return 'absent'
  return graph.isDeletedInForeground(owner.uid) ? 'waits-for-dependents' : 'exists'
}
