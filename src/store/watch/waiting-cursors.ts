import type { Key } from '../key.ts'
import type { History } from '../machine/event-history.ts'
import type { EventIndex, StoreEvent } from '../object-store.ts'
import type { Revision } from '../revision.ts'
import type { Cursor } from './cursor.ts'

/** The cursors that wait under one prefix, by interest. */
export class WaitingCursors {
  #everything = new Set<Cursor>()
  readonly #byKey = new Map<Key, Set<Cursor>>()
  readonly #byValue = new Map<EventIndex, Map<string, Set<Cursor>>>()

  get isEmpty(): boolean {
    return this.#everything.size === 0 && this.#byKey.size === 0 && this.#byValue.size === 0
  }

  add(cursor: Cursor): void {
    const { interest } = cursor
    if (interest === null) this.#everything.add(cursor)
    else if (interest.kind === 'key') addTo(this.#byKey, interest.key, cursor)
    else {
      const { index, value } = interest
      let values = this.#byValue.get(index)
      if (values === undefined) {
        values = new Map()
        this.#byValue.set(index, values)
      }
      addTo(values, value, cursor)
    }
  }

  delete(cursor: Cursor): void {
    const { interest } = cursor
    if (interest === null) this.#everything.delete(cursor)
    else if (interest.kind === 'key') deleteFrom(this.#byKey, interest.key, cursor)
    else {
      const values = this.#byValue.get(interest.index)
      if (values === undefined) return
      deleteFrom(values, interest.value, cursor)
      if (values.size === 0) this.#byValue.delete(interest.index)
    }
  }

  all(): Cursor[] {
    const sets = [this.#everything, ...this.#byKey.values()]
    for (const values of this.#byValue.values()) sets.push(...values.values())
    return sets.flatMap((set) => [...set])
  }

  /** Removes and returns the cursors that the event at a revision concerns. */
  taken(history: History, at: Revision): Iterable<Cursor> {
    const { key } = history.note(at)
    const taken = this.#everything
    this.#everything = new Set()
    takeFrom(this.#byKey, key, taken)
    if (this.#byValue.size === 0) return taken
    const event = history.event(at)
    for (const [index, values] of this.#byValue) {
      for (const value of valuesOf(index, event) ?? [...values.keys()]) takeFrom(values, value, taken)
      if (values.size === 0) this.#byValue.delete(index)
    }
    return taken
  }
}

/**
 * @returns null: the values are unknown, so all cursors are woken, and each checks the event itself
 * or reports the read error
 */
function valuesOf(index: EventIndex, event: StoreEvent | null): readonly string[] | null {
  if (event === null) return null
  try {
    return index.valuesOf(event)
  } catch {
    return null
  }
}

function addTo<Name>(sets: Map<Name, Set<Cursor>>, name: Name, cursor: Cursor): void {
  const set = sets.get(name)
  if (set === undefined) sets.set(name, new Set([cursor]))
  else set.add(cursor)
}

function deleteFrom<Name>(sets: Map<Name, Set<Cursor>>, name: Name, cursor: Cursor): void {
  const set = sets.get(name)
  if (set?.delete(cursor) === true && set.size === 0) sets.delete(name)
}

function takeFrom<Name>(sets: Map<Name, Set<Cursor>>, name: Name, taken: Set<Cursor>): void {
  const set = sets.get(name)
  if (set === undefined) return
  for (const cursor of set) taken.add(cursor)
  sets.delete(name)
}
