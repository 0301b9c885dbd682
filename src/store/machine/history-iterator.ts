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
  readonly #deletedKeys: Iterator<KeyDeletions, void>
  #object: StoredObject | null
  #deletedKey: KeyDeletions | null

  constructor(state: MachineState, prefix: KeyPrefix, after: Key | null, at: Revision) {
    this.last = after
    this.#undoing = new VersionLookup(state.history, at)
    this.#objects = state.objects.walk(prefix, after)
    this.#deletedKeys = state.history.deletedKeys(prefix, after)
    this.#object = nextOf(this.#objects)
    this.#deletedKey = nextOf(this.#deletedKeys)
  }

  /**
   * Returns the next versions.
   * @param most maximum number
   * @param stepsMax number of visited keys and events after which no further key is visited
   */
  take(most: number, stepsMax: number): VersionRef[] {
    const places: VersionRef[] = []
    for (let keys = 0; places.length < most && keys + this.#undoing.steps < stepsMax; keys++) {
      const [object, deleted] = [this.#object, this.#deletedKey]
      const key = firstOf(object, deleted)
      if (key === null) {
        this.ended = true
        break
      }
      const ofKey = deleted?.key === key ? deleted : null
      const current = object?.key === key ? object : null
      if (current !== null) this.#object = nextOf(this.#objects)
      if (ofKey !== null) this.#deletedKey = nextOf(this.#deletedKeys)
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

  place(current: StoredObject | null, deleted: KeyDeletions | null): VersionRef | null {
    if (current !== null) {
      if (current.revision <= this.#at) return current
      const place = this.#replacedSince(current.revision)
      if (place !== null) return place
    }
    // The object at that revision ended with the first deletion since.
    const deletion = deleted === null ? null : firstAbove(deleted.revisions, this.#at)
    return deletion === null ? null : this.#replacedSince(deletion)
  }

  /**
   * Follows the events of one object back from `newest` to the first one after `at`, and returns
   * the version that it replaced. null: that event created the object.
   */
  #replacedSince(newest: Revision): VersionRef | null {
    let event = newest
    for (let previous = this.#history.previousOf(event); ; previous = this.#history.previousOf(event)) {
      this.steps++
      if (previous === 0) return null
      if (previous <= this.#at) return this.#history.replacedBy(event) ?? previous
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

function firstOf(object: StoredObject | null, deleted: KeyDeletions | null): Key | null {
  if (object === null) return deleted?.key ?? null
  return deleted !== null && deleted.key < object.key ? deleted.key : object.key
}

function nextOf<T>(iterator: Iterator<T, void>): T | null {
  const next = iterator.next()
  return next.done === true ? null : next.value
}
