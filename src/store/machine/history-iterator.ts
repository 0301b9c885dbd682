import type { Key, KeyPrefix } from '../key.ts'
import type { StoredObject } from '../object-store.ts'
import type { Revision } from '../revision.ts'
import type { KeyDeletions, History } from './event-history.ts'
import type { MachineState } from './state.ts'

/** A version: itself where memory has it, otherwise the revision under which the disk has it. */
export type VersionRef = StoredObject | Revision

/**
 * The version of `key` that was the newest at the revision `at`: what is there now, or what the
 * first of the events since replaced. Each event names the version before it, so only those of this
 * very key are looked at.
 *
 * @param at within the window
 * @returns null: there was none
 */
export function versionAt(state: MachineState, key: Key, at: Revision): VersionRef | null {
  return new VersionLookup(state.history, at).place(state.objects.get(key), state.history.deletionsOf(key))
}

/**
 * The state at a revision of the past in key order: what is there now and what was deleted within
 * the window, merged. Good as long as nothing is applied: not over an `await`, behind which another
 * one goes on from `last`.
 *
 * Over a whole list it looks at each object once and at most at each event since: as much as the
 * newest list costs, and what was written meanwhile.
 */
export class HistoryIterator {
  /** The last key that was looked at. */
  last: Key | null
  /** Nothing is behind it. */
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
   * The next ones.
   * @param most at most so many
   * @param stepsMax stops behind so many keys and events, with fewer
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

/** Finds versions of one revision, and counts the events it had to look at. */
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
    // What was there then, if anything, ended with the first deletion since.
    const deletion = departure === null ? null : firstBehind(departure.revisions, this.#at)
    return deletion === null ? null : this.#replacedSince(deletion)
  }

  /** Goes from event to event of one object back to the first one since. null: that created it. */
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

/** The first revision above `at` of those ascending. */
function firstBehind(revisions: readonly Revision[], at: Revision): Revision | null {
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
