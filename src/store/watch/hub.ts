import { assert } from '../../../base/assert.ts'
import type { Clock } from '../../../base/clock.ts'
import { StoreError } from '../store-errors.ts'
import { ALL_OBJECTS } from '../key.ts'
import type { KeyPrefix } from '../key.ts'
import type { StoreLimits } from '../store-limits.ts'
import type { History } from '../machine/event-history.ts'
import { prefixesOf, scopeOf } from '../machine/scope.ts'
import type { WatchCursor, WatchInterest } from '../object-store.ts'
import { compactedError } from '../past-versions.ts'
import { revision } from '../revision.ts'
import type { Revision } from '../revision.ts'
import type { StoreMachine } from '../store-machine.ts'
import { Cursor } from './cursor.ts'
import type { CursorHost } from './cursor.ts'
import { WaitingCursors } from './waiting-cursors.ts'

export type WatchHubOptions = {
  readonly machine: StoreMachine
  readonly clock: Clock
  readonly limits: StoreLimits
}

/**
 * Wakes waiting cursors. They are indexed by prefix and interest, so an event costs a few look-ups
 * plus the cursors it concerns, however many others wait. Cursors are woken in time slices, so that
 * many of them do not block the event loop.
 */
export class WatchHub implements CursorHost {
  readonly #options: WatchHubOptions
  readonly #open = new Set<Cursor>()
  readonly #waiting = new Map<string, WaitingCursors>()
  #toWake: Cursor[] = []
  #waking = false
  #seen: Revision
  #era = 0
  #closed = false

  constructor(options: WatchHubOptions) {
    this.#options = options
    this.#seen = options.machine.lastState.revision
  }

  get openCursors(): number {
    return this.#open.size
  }

  /** @throws StoreError `compacted`, `overloaded`, `quarantined`, `stopped` */
  open(prefix: KeyPrefix, after: Revision, interest: WatchInterest | null = null): WatchCursor {
    const { machine, limits } = this.#options
    const isWhole = prefix === ALL_OBJECTS || scopeOf(prefix).level !== 'all'
    assert(isWhole, 'a watch covers all objects, or one resource, in one namespace or in all')
    if (this.#closed) throw new StoreError('stopped', 'the store is closed: no new watches')
    const { trimmed } = machine.state.history
    if (after < trimmed) throw compactedError(after, trimmed)
    if (this.#open.size >= limits.cursorsMax) throw new StoreError('overloaded', 'too many watches are open')

    const cursor = new Cursor({
      machine,
      host: this,
      prefix,
      after,
      interest,
      diskVersionsMax: limits.diskReadVersionsMax,
    })
    this.#open.add(cursor)
    return cursor
  }

  /** Called after memory has applied entries: finds the cursors to wake. */
  applied(): void {
    const { history } = this.#options.machine.state
    const from = this.#seen
    this.#seen = history.last
    if (this.#waiting.size === 0) return
    // After an installed snapshot the events in between are unknown: wake all.
    if (from < history.trimmed || from > history.last) {
      this.#wakeAll(from)
      return
    }
    for (let at = from + 1; at <= history.last && this.#waiting.size > 0; at++) {
      const { key } = history.note(revision(at))
      for (const prefix of prefixesOf(key)) this.#found(prefix, history, revision(at))
    }
  }

  /**
   * Called when the state is quarantined: all cursors fail at their next read, and waiting ones are
   * woken.
   */
  invalidate(): void {
    this.#era++
    this.#wakeAll(this.#seen)
  }

  get era(): number {
    return this.#era
  }

  get seen(): Revision {
    return this.#seen
  }

  wait(cursor: Cursor): void {
    const { prefix } = cursor.scope
    let group = this.#waiting.get(prefix)
    if (group === undefined) {
      group = new WaitingCursors()
      this.#waiting.set(prefix, group)
    }
    group.add(cursor)
  }

  wake(cursor: Cursor): void {
    this.#toWake.push(cursor)
    if (this.#waking) return
    this.#waking = true
    this.#options.clock.soon(() => this.#slice())
  }

  forget(cursor: Cursor): void {
    const { prefix } = cursor.scope
    const group = this.#waiting.get(prefix)
    group?.delete(cursor)
    if (group?.isEmpty === true) this.#waiting.delete(prefix)
    if (cursor.closed) this.#open.delete(cursor)
  }

  close(): void {
    this.#closed = true
    for (const cursor of [...this.#open]) cursor.close()
  }

  #found(prefix: string, history: History, at: Revision): void {
    const group = this.#waiting.get(prefix)
    if (group === undefined) return
    for (const cursor of group.taken(history, at)) {
      cursor.found(at)
      this.wake(cursor)
    }
    if (group.isEmpty) this.#waiting.delete(prefix)
  }

  #wakeAll(from: Revision): void {
    const cursors = [...this.#waiting.values()].flatMap((group) => group.all())
    this.#waiting.clear()
    for (const cursor of cursors) {
      cursor.found(from + 1)
      this.wake(cursor)
    }
  }

  /**
   * Wakes cursors until the time slice is over. Cursors that are closed or being read ignore the
   * wake-up.
   */
  #slice(): void {
    const { clock, limits } = this.#options
    const until = clock.monotonicMs() + limits.wakeSliceMs
    const queue = this.#toWake
    let woken = 0
    while (woken < queue.length) {
      queue[woken]?.runWakeUp()
      woken++
      if (woken % wakeUpsPerClockRead === 0 && clock.monotonicMs() >= until) break
    }
    this.#toWake = queue.slice(woken)
    this.#waking = this.#toWake.length > 0
    if (this.#waking) clock.soon(() => this.#slice())
  }
}

/** Reading the clock costs about as much as waking an idle cursor. */
const wakeUpsPerClockRead = 8
