import type { Key, KeyPrefix } from '../key.ts'
import type { StoredObject } from '../object-store.ts'
import type { Revision } from '../revision.ts'
import type { KeyDeletions, History } from './event-history.ts'
import type { MachineState } from './state.ts'

/** A version: itself if memory has it, otherwise its revision on disk. */
export type VersionRef = StoredObject | Revision

/**
 * Returns the version of `key` that was the newest at the revision `at`: the current one, or the
 * one that the first event since replaced. Each event refers to the previous version, so only
 * events of this key are visited.
 *
 * @param at within the window
 * @returns null: there was none
 */
export function versionAt(state: MachineState, key: Key, at: Revision): VersionRef | null {
  return new VersionLookup(state.history, at).place(state.objects.get(key), state.history.deletionsOf(key))
}

/**
 * Iterates over the state at a past revision in key order: merges current objects with those
 * deleted within the window. Valid until something is applied, so not across an `await`; another
 * iterator continues from `last`.
 *
 * Over a whole list it visits each object once and each event since at most once.
 */
export class HistoryIterator {
  /** The last key that was visited. */
  last: Key | null
  /** Whether the end was reached. */
  ended = false
  readonly #undoing: VersionLookup
  readonly #objects: Iterator<StoredObject, void>
  readonly #departures: Iterator<KeyDeletions, void>
  #object: StoredObject | null
  #departure: KeyDeletions | null

  constructor(state: MachineState, prefix: KeyPrefix, after: Key | null, at: Revision) {
    this.last = after
    this.#undoing = new VersionLookup(state.history, at)
    this.#objects = state.objects.walk(prefix, after)
    this.#departures = state.history.deletedKeys(prefix, after)
    this.#object = nextOf(this.#objects)
    this.#departure = nextOf(this.#departures)
  }

  /**
   * Returns the next versions.
   * @param most maximum number
   * @param stepsMax maximum number of visited keys and events
   */
  take(most: number, stepsMax: number): VersionRef[] {
    const places: VersionRef[] = []
    for (let keys = 0; places.length < most && keys + this.#undoing.steps < stepsMax; keys++) {
      const [object, departure] = [this.#object, this.#departure]
      const key = firstOf(object, departure)
      if (key === null) {
        this.ended = true
        break
      }
      const ofKey = departure?.key === key ? departure : null
      const current = object?.key === key ? object : null
      if (current !== null) this.#object = nextOf(this.#objects)
      if (ofKey !== null) this.#departure = nextOf(this.#departures)
      const place = this.#undoing.place(current, ofKey)
      if (place !== null) places.push(place)
      this.last = key
    }
    return places
  }
}

/** Finds versions at one revision, and counts the visited events. */
class VersionLookup {
  steps = 0
  readonly #history: History
  readonly #at: Revision

  constructor(history: History, at: Revision) {
    this.#history = history
    this.#at = at
  }

  place(current: StoredObject | null, departure: KeyDeletions | null): VersionRef | null {
    if (current !== null) {
      if (current.revision <= this.#at) return current
      const place = this.#replacedSince(current.revision)
      if (place !== null) return place
    }
    // The object at that revision ended with the first deletion since.
    const deletion = departure === null ? null : firstAbove(departure.revisions, this.#at)
    return deletion === null ? null : this.#replacedSince(deletion)
  }

  /** Follows the events of one object back to the first one since. null: that one created it. */
  #replacedSince(newest: Revision): VersionRef | null {
    let event = newest
    for (let previous = this.#history.previousOf(event); ; previous = this.#history.previousOf(event)) {
      this.steps++
      if (previous === 0) return null
      if (previous <= this.#at) return this.#history.note(event).event?.previous ?? previous
      event = previous
    }
  }
}

/** Returns the first revision above `at` in ascending order. */
function firstAbove(revisions: readonly Revision[], at: Revision): Revision | null {
  let low = 0
  let high = revisions.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((revisions[middle] ?? 0) > at) high = middle
    else low = middle + 1
  }
  return revisions[low] ?? null
}

function firstOf(object: StoredObject | null, departure: KeyDeletions | null): Key | null {
  if (object === null) return departure?.key ?? null
  return departure !== null && departure.key < object.key ? departure.key : object.key
}

function nextOf<T>(iterator: Iterator<T, void>): T | null {
  const next = iterator.next()
  return next.done === true ? null : next.value
}
