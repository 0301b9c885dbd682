import { isStored, placeOf } from './definition.ts'
import type { ResourceDefinition } from './definition.ts'
import { storedKinds } from './stored-kinds.ts'

/** Stored kinds by group and kind, and by storage location. Immutable. */
export class KindIndex {
  readonly #byKind = new Map<string, ResourceDefinition>()
  readonly #byPlace = new Map<string, ResourceDefinition>()

  constructor(kinds: readonly ResourceDefinition[]) {
    for (const one of kinds.filter(isStored)) {
      const id = `${one.group}/${one.kind}`
      if (!this.#byKind.has(id)) this.#byKind.set(id, one)
    }
    for (const one of storedKinds(kinds)) {
      const { group, plural } = placeOf(one)
      this.#byPlace.set(`${group}/${plural}`, one)
    }
  }

  /** Returns the first kind of that name, in any version. */
  ofKind(group: string, kind: string): ResourceDefinition | null {
    return this.#byKind.get(`${group}/${kind}`) ?? null
  }

  /** Returns the kind whose objects are at this location; see `storedKinds`. */
  at(group: string, plural: string): ResourceDefinition | null {
    return this.#byPlace.get(`${group}/${plural}`) ?? null
  }
}
