import type { Clock } from '../../base/clock.ts'
import type { StoreLimits } from './store-limits.ts'
import type { Key, KeyPrefix } from './key.ts'
import { HistoryIterator, versionAt } from './machine/history-iterator.ts'
import type { VersionRef } from './machine/history-iterator.ts'
import { scopeOf } from './machine/scope.ts'
import type { MachineState } from './machine/state.ts'
import type { ListSlice, PastView, StoredObject } from './object-store.ts'
import { compactedError, resolveVersions } from './past-versions.ts'
import type { Revision } from './revision.ts'
import type { StoreMachine } from './store-machine.ts'

export type HistoricalViewOptions = {
  readonly machine: StoreMachine
  readonly clock: Clock
  readonly limits: StoreLimits
  readonly revision: Revision
}

type ListOptions = { readonly after: Key | null; readonly limit: number | null }

/**
 * The state at a past revision: the newest state with the events since then undone. No state is
 * kept between calls on any member, so lists can be read page by page on any member.
 */
export class HistoricalView implements PastView {
  readonly revision: Revision
  readonly #options: HistoricalViewOptions

  constructor(options: HistoricalViewOptions) {
    this.#options = options
    this.revision = options.revision
  }

  async get(key: Key): Promise<StoredObject | null> {
    while (true) {
      const state = this.#state()
      const place = versionAt(state, key, this.revision)
      if (place === null) return null
      const [found] = (await this.#resolve(state, [place])) ?? []
      if (found !== undefined) return found
    }
  }

  async list(prefix: KeyPrefix, options: ListOptions): Promise<ListSlice> {
    const { clock, limits } = this.#options
    const most = options.limit ?? Number.MAX_SAFE_INTEGER
    const objects: StoredObject[] = []
    let { after } = options
    while (true) {
      const state = this.#state()
      const walk = new HistoryIterator(state, prefix, after, this.revision)
      // One more than requested, to find out whether there are more.
      const places = walk.take(most + 1 - objects.length, limits.scanStepsMax)
      const found = await this.#resolve(state, places)
      // A snapshot replaced the state: continue in it from the same key.
      if (found === null) continue
      for (const object of found) objects.push(object)
      if (walk.ended || objects.length > most) break
      after = walk.last
      await new Promise<void>((resolve) => clock.soon(resolve))
    }
    const more = objects.length > most
    if (more) objects.length = most
    return { objects, more }
  }

  /** Returns the newest count with creations and deletions since then undone. */
  async count(prefix: KeyPrefix): Promise<number> {
    const { clock, limits } = this.#options
    const scope = scopeOf(prefix)
    let counted: MachineState | null = null
    let [at, arrived] = [this.revision, 0]
    while (true) {
      const state = this.#state()
      if (counted !== state) [counted, at, arrived] = [state, this.revision, 0]
      const { history, objects } = state
      for (let looked = 0; looked < limits.scanStepsMax; looked++) {
        const next = at < history.last ? history.seek(scope, at, history.last) : null
        if (next === null) return objects.count(prefix) - arrived
        const { kind } = history.note(next)
        if (kind !== 'updated') arrived += kind === 'created' ? 1 : -1
        at = next
      }
      await new Promise<void>((resolve) => clock.soon(resolve))
    }
  }

  /** @throws StoreError `compacted` */
  #state(): MachineState {
    const { state } = this.#options.machine
    const { trimmed } = state.history
    if (this.revision < trimmed) throw compactedError(this.revision, trimmed)
    return state
  }

  /**
   * Reads versions that are on disk only.
   * @returns null when a snapshot was installed in between
   */
  async #resolve(
    state: MachineState,
    places: readonly VersionRef[],
  ): Promise<readonly StoredObject[] | null> {
    const { machine, limits } = this.#options
    const wanted = places.filter((place) => typeof place === 'number')
    if (wanted.length === 0) return places.filter((place) => typeof place !== 'number')
    const options = { since: this.revision, atOnce: limits.diskReadVersionsMax }
    const versions = await resolveVersions(machine, wanted, options)
    if (versions === null || machine.state !== state) return null
    const found: StoredObject[] = []
    for (const place of places) {
      const object = typeof place === 'number' ? versions.get(place) : place
      if (object === undefined) return null
      found.push(object)
    }
    return found
  }
}
