import type { Key } from './key.ts'
import { scopeOf } from './machine/scope.ts'
import type { Scope } from './machine/scope.ts'
import type { MachineState } from './machine/state.ts'
import type { Revision } from './revision.ts'

/** For one scope and past revision: the first event since of every key that changed. */
export type UndoMap = {
  readonly state: MachineState
  readonly scope: Scope
  readonly first: Map<Key, Revision>
  /** Events up to here were looked at. */
  upTo: Revision
}

/**
 * What reads of the past have found out, kept for their next page: pages of one list ask for the same
 * scope and revision again and again, and only the events since the page before are new.
 */
export class UndoMaps {
  readonly #mapsMax: number
  readonly #keysMax: number
  /** The one used last is at the end. */
  readonly #maps = new Map<string, UndoMap>()

  /** @param bounds.keys in all maps together; when full, those used longest ago are forgotten */
  constructor(bounds: { readonly maps: number; readonly keys: number }) {
    this.#mapsMax = bounds.maps
    this.#keysMax = bounds.keys
  }

  /** The map to go on with; `lookOn` until it is up to date. */
  take(state: MachineState, prefix: string, revision: Revision): UndoMap {
    const name = `${revision} ${prefix}`
    const known = this.#maps.get(name)
    this.#maps.delete(name)
    const fits = known?.state === state
    const map = fits
      ? known
      : { state, scope: scopeOf(prefix), first: new Map<Key, Revision>(), upTo: revision }
    this.#maps.set(name, map)
    this.#forget()
    return map
  }

  /** Bounds what is kept. Maps in use live on with their readers. */
  #forget(): void {
    let keys = 0
    for (const map of this.#maps.values()) keys += map.first.size
    for (const [name, map] of this.#maps) {
      if (this.#maps.size <= this.#mapsMax && keys <= this.#keysMax) return
      this.#maps.delete(name)
      keys -= map.first.size
    }
  }
}

/**
 * Looks at events that were not looked at yet, at most `eventsMax` of the scope.
 * @returns whether the map is up to date, which it is until something is applied
 */
export function lookOn(map: UndoMap, eventsMax: number): boolean {
  const { history } = map.state
  for (let looked = 0; looked < eventsMax; looked++) {
    const next = map.upTo < history.last ? history.seek(map.scope, map.upTo, history.last) : null
    if (next === null) {
      map.upTo = history.last
      return true
    }
    const { key } = history.note(next)
    if (!map.first.has(key)) map.first.set(key, next)
    map.upTo = next
  }
  return false
}
