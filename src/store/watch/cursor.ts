import { assert } from '../../../base/assert.ts'
import type { KeyPrefix } from '../key.ts'
import { scopeOf } from '../machine/scope.ts'
import type { Scope } from '../machine/scope.ts'
import type { History } from '../machine/event-history.ts'
import type { StoreEvent, WatchCursor, WatchInterest } from '../object-store.ts'
import { compactedError, resolveVersions } from '../past-versions.ts'
import { quarantinedError } from '../quarantine.ts'
import { revision } from '../revision.ts'
import type { Revision } from '../revision.ts'
import type { StoreMachine } from '../store-machine.ts'

/** The interface of the hub for its cursors. */
export interface CursorHost {
  /** Wakes the cursor once, when an event that concerns it is applied. */
  wait(cursor: Cursor): void
  /** Wakes the cursor soon. */
  wake(cursor: Cursor): void
  forget(cursor: Cursor): void
  /** All waiting cursors were checked for events up to here. */
  readonly seen: Revision
  /** Incremented when the state is quarantined: cursors of an earlier era fail. */
  readonly era: number
}

export type CursorOptions = {
  readonly machine: StoreMachine
  readonly host: CursorHost
  /** Prefix of a resource, of a namespace in one, or of all objects. */
  readonly prefix: KeyPrefix
  readonly after: Revision
  /** The events that wake it; null: all under the prefix. */
  readonly interest: WatchInterest | null
  /** Versions read from disk at a time. */
  readonly diskVersionsMax: number
}

/** One reader's position in the event log. Holds no events: they stay in the log until read. */
export class Cursor implements WatchCursor {
  readonly scope: Scope
  readonly #options: CursorOptions
  readonly #era: number
  #position: Revision
  #state: 'idle' | 'waiting' | 'woken' | 'reading' | 'closed' = 'idle'
  #wake: () => void = () => undefined

  constructor(options: CursorOptions) {
    this.#options = options
    this.scope = scopeOf(options.prefix)
    this.#position = options.after
    this.#era = options.host.era
  }

  get closed(): boolean {
    return this.#state === 'closed'
  }

  get revision(): Revision {
    // No event up to `seen` matched a waiting cursor.
    const { seen } = this.#options.host
    return this.#state === 'waiting' && seen > this.#position ? seen : this.#position
  }

  next(limit: number): readonly StoreEvent[] | Promise<readonly StoreEvent[]> {
    assert(this.#state !== 'reading', 'a cursor handles one call at a time')
    assert(limit >= 1, 'at least one event is requested')
    if (this.#state === 'closed') return []
    this.#checkEra()
    this.#leave()
    const events: StoreEvent[] = []
    const found = this.#collect(limit, events)
    if (found.missing === null) {
      this.#position = found.upTo
      return events
    }
    this.#state = 'reading'
    return this.#read(Math.min(limit, Math.max(1, this.#options.diskVersionsMax >>> 1))).finally(() => {
      if (this.#state === 'reading') this.#state = 'idle'
    })
  }

  onMore(wake: () => void): void {
    if (this.#state === 'closed') return
    this.#wake = wake
    if (this.#state === 'woken' || this.#state === 'waiting') return
    const { host, machine } = this.#options
    if (host.era !== this.#era) {
      // The next read reports the error.
      this.#state = 'woken'
      return host.wake(this)
    }
    const { history } = machine.state
    this.#state = 'waiting'
    const first = this.#position < history.trimmed ? this.#position : this.#seek(history, this.#position)
    if (first === null) {
      this.#position = history.last > this.#position ? history.last : this.#position
      host.wait(this)
      return
    }
    this.#state = 'woken'
    host.wake(this)
  }

  get interest(): WatchInterest | null {
    return this.#options.interest
  }

  /** Called by the hub: the first matching event is at `first`. */
  found(first: number): void {
    if (this.#state !== 'waiting') return
    this.#state = 'woken'
    if (first - 1 > this.#position) this.#position = revision(first - 1)
  }

  /** Called by the hub: runs the wake-up. */
  runWakeUp(): void {
    if (this.#state !== 'woken') return
    this.#state = 'idle'
    this.#wake()
  }

  close(): void {
    this.#leave()
    this.#state = 'closed'
    this.#wake = () => undefined
    this.#options.host.forget(this)
  }

  /**
   * A position in a history that other members do not share is meaningless in theirs.
   * @throws StoreError `quarantined`
   */
  #checkEra(): void {
    if (this.#options.host.era !== this.#era) throw quarantinedError()
  }

  /** Stops waiting, and keeps the progress made while waiting. */
  #leave(): void {
    if (this.#state !== 'waiting') {
      if (this.#state === 'woken') this.#state = 'idle'
      return
    }
    this.#position = this.revision
    this.#state = 'idle'
    this.#options.host.forget(this)
  }

  /**
   * Adds events of this scope to `events` as long as they are in memory; whole commands, so that a
   * reader never sees half of one.
   */
  #collect(
    limit: number,
    events: StoreEvent[],
  ): { readonly upTo: Revision; readonly missing: Revision | null } {
    const { history } = this.#options.machine.state
    if (this.#position < history.trimmed) throw compactedError(this.#position, history.trimmed)
    let at = this.#position
    if (at >= history.last) return { upTo: at, missing: null }
    while (true) {
      const next = this.#seek(history, at)
      const limitReached = events.length >= limit && (next === null || commandEnded(history, at, next))
      if (limitReached) return { upTo: at, missing: null }
      if (next === null) return { upTo: history.last, missing: null }
      const event = history.event(next)
      if (event === null) return { upTo: at, missing: next }
      events.push(event)
      at = next
    }
  }

  async #read(limit: number): Promise<readonly StoreEvent[]> {
    const { machine } = this.#options
    while (true) {
      this.#checkEra()
      const { state } = machine
      const { history } = state
      if (this.#position < history.trimmed) throw compactedError(this.#position, history.trimmed)
      const notes = []
      let at = this.#position
      for (let next = this.#seek(history, at); next !== null; next = this.#seek(history, at)) {
        if (notes.length >= limit && commandEnded(history, at, next)) break
        // Both now: the event may leave memory during the reads.
        notes.push({ note: history.note(next), event: history.event(next) })
        at = next
      }
      const wanted = notes.flatMap(({ note, event }) =>
        event !== null ? [] : note.previous === 0 ? [note.revision] : [note.revision, note.previous],
      )
      const versions = await resolveVersions(machine, wanted, {
        since: this.#position,
        atOnce: this.#options.diskVersionsMax,
      })
      if (this.closed) return []
      if (machine.state !== state || versions === null) continue
      this.#position = at
      return notes.map(({ note, event }): StoreEvent => {
        if (event !== null) return event
        const object = versions.get(note.revision)
        assert(object !== undefined, 'every version asked for was read')
        const previous = note.previous === 0 ? null : (versions.get(note.previous) ?? null)
        return { kind: note.kind, revision: note.revision, key: note.key, object, previous }
      })
    }
  }

  #seek(history: History, after: Revision): Revision | null {
    return after >= history.last ? null : history.seek(this.scope, after, history.last)
  }
}

/** Whether `next` belongs to a later command than `at`. */
function commandEnded(history: History, at: Revision, next: Revision): boolean {
  for (let between = at; between < next; between = revision(between + 1)) {
    if (history.endsCommand(between)) return true
  }
  return false
}
