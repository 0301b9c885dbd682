import type { Clock } from '../../raft/base/clock.ts'
import type { StoreLimits } from './limits.ts'
import type { Key, KeyPrefix } from './key.ts'
import { scopeOf } from './machine/scope.ts'
import type { MachineState } from './machine/state.ts'
import type { ListSlice, PastView, StoredObject } from './object-store.ts'
import { compacted, resolveVersions } from './past-versions.ts'
import type { Revision } from './revision.ts'
import type { StoreMachine } from './store-machine.ts'
import { lookOn } from './undo-maps.ts'
import type { UndoMap, UndoMaps } from './undo-maps.ts'

export type PastViewOptions = {
  readonly machine: StoreMachine
  readonly clock: Clock
  readonly limits: StoreLimits
  /** Shared by all reads of the past. */
  readonly undoMaps: UndoMaps
  readonly revision: Revision
}

type ListOptions = { readonly after: Key | null; readonly limit: number | null }

/**
 * The state at a revision of the past: the newest state, with the events since then undone. An object
 * that did not change since is the one in memory; of one that did, the first event since names the
 * version it replaced.
 */
export class UndoneView implements PastView {
  readonly revision: Revision
  readonly #options: PastViewOptions

  constructor(options: PastViewOptions) {
    this.#options = options
    this.revision = options.revision
  }

  async get(key: Key): Promise<StoredObject | null> {
    while (true) {
      const { state } = this.#options.machine
      this.#check(state)
      const current = state.objects.get(key)
      if (current !== null && current.revision <= this.revision) return current
      const first = this.#firstEventOf(state, key)
      if (first === null) return null
      const [found] = (await this.#before(state, [first])) ?? [undefined]
      if (found !== undefined) return found
    }
  }

  async list(prefix: KeyPrefix, options: ListOptions): Promise<ListSlice> {
    while (true) {
      const { plan, reading } = await this.#undone(prefix, (undone) => {
        const merged = this.#merge(undone, prefix, options)
        const places = merged.places.filter((place) => typeof place === 'number')
        return { plan: merged, reading: this.#before(undone.state, places) }
      })
      const versions = await reading
      if (versions === null) continue
      let next = 0
      const objects: StoredObject[] = []
      for (const place of plan.places) {
        const object = typeof place === 'number' ? versions[next++] : place
        if (object !== null && object !== undefined) objects.push(object)
      }
      return { objects, more: plan.more }
    }
  }

  /** The newest count, with what was created and deleted since then undone. */
  count(prefix: KeyPrefix): Promise<number> {
    return this.#undone(prefix, ({ state, first }) => {
      let count = state.objects.count(prefix)
      for (const [key, event] of first) {
        if (state.history.note(event).previous !== 0) count++
        if (state.objects.get(key) !== null) count--
      }
      return count
    })
  }

  /** Calls `use` in the same turn as the last look at the events since, so that both are of one moment. */
  async #undone<T>(prefix: KeyPrefix, use: (undone: UndoMap) => T): Promise<T> {
    const { machine, clock, limits, undoMaps } = this.#options
    let undone: UndoMap | null = null
    while (true) {
      const { state } = machine
      this.#check(state)
      if (undone?.state !== state) undone = undoMaps.take(state, prefix, this.revision)
      if (lookOn(undone, limits.scanEventsMax)) return use(undone)
      await new Promise<void>((resolve) => clock.soon(resolve))
    }
  }

  /** @throws StoreFailure `compacted` */
  #check(state: MachineState): void {
    const { trimmed } = state.history
    if (this.revision < trimmed) throw compacted(this.revision, trimmed)
  }

  #firstEventOf(state: MachineState, key: Key): Revision | null {
    const { history } = state
    const scope = scopeOf(key.slice(0, key.lastIndexOf('/') + 1))
    let at = this.revision
    while (at < history.last) {
      const next = history.seek(scope, at, history.last)
      if (next === null || history.note(next).key === key) return next
      at = next
    }
    return null
  }

  /** Unchanged objects and, by their first event, changed ones, in key order. */
  #merge(
    undone: UndoMap,
    prefix: KeyPrefix,
    options: ListOptions,
  ): { readonly places: readonly (StoredObject | Revision)[]; readonly more: boolean } {
    const { history } = undone.state
    const most = options.limit ?? Number.MAX_SAFE_INTEGER
    const unchanged = this.#unchanged(undone.state, prefix, options.after, most)
    const lastKey = unchanged.length > most ? unchanged[unchanged.length - 1]?.key : undefined
    const changed: (readonly [Key, Revision])[] = []
    for (const entry of undone.first) {
      const [key, first] = entry
      const isOnPage =
        (options.after === null || key > options.after) && (lastKey === undefined || key < lastKey)
      if (isOnPage && history.note(first).previous !== 0) changed.push(entry)
    }
    changed.sort(([a], [b]) => (a < b ? -1 : 1))
    const places: (StoredObject | Revision)[] = []
    let at = 0
    for (const object of unchanged) {
      for (let one = changed[at]; one !== undefined && one[0] < object.key; one = changed[++at])
        places.push(one[1])
      places.push(object)
    }
    for (const [, first] of changed.slice(at)) places.push(first)
    return { places: places.slice(0, most), more: places.length > most }
  }

  /** One more than `most`, so that the caller knows of more. */
  #unchanged(state: MachineState, prefix: KeyPrefix, after: Key | null, most: number): StoredObject[] {
    const found: StoredObject[] = []
    let behind = after
    while (found.length <= most) {
      const slice = state.objects.list(prefix, behind, walkObjects)
      for (const object of slice.objects) {
        if (object.revision <= this.revision && found.length <= most) found.push(object)
        behind = object.key
      }
      if (!slice.more) break
    }
    return found
  }

  /**
   * The versions that these events replaced; null for a creation.
   * @returns null when a snapshot was installed meanwhile
   */
  async #before(
    state: MachineState,
    events: readonly Revision[],
  ): Promise<readonly (StoredObject | null)[] | null> {
    const { machine, limits } = this.#options
    const notes = events.map((event) => state.history.note(event))
    const wanted = notes
      .filter((note) => note.event === null && note.previous !== 0)
      .map((note) => note.previous)
    if (wanted.length === 0) return notes.map((note) => note.event?.previous ?? null)
    const options = { since: this.revision, atOnce: limits.diskReadVersionsMax }
    const versions = await resolveVersions(machine, wanted, options)
    if (versions === null) return null
    return notes.map((note) =>
      note.event === null ? (versions.get(note.previous) ?? null) : note.event.previous,
    )
  }
}

/** Objects looked through at a time. */
const walkObjects = 1000
