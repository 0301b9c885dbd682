import { isStored, placeOf, storedTypeOf } from './definition.ts'
import type { ResourceDefinition } from './definition.ts'

/**
 * Returns one kind for each storage location: its storage version, or any other version where that
 * one is not served.
 */
export function storedKinds(kinds: readonly ResourceDefinition[]): readonly ResourceDefinition[] {
  const byPlace = new Map<string, ResourceDefinition>()
  for (const kind of kinds.filter(isStored)) {
    const { group, plural } = placeOf(kind)
    const place = `${group}/${plural}`
    const stored = storedTypeOf(kind)
    const isAsStored = stored.group === kind.group && stored.version === kind.version
    if (isAsStored || !byPlace.has(place)) byPlace.set(place, kind)
  }
  return [...byPlace.values()]
}
