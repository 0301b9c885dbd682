import { ApiError } from '../../api/errors/api-error.ts'
import { internal } from '../../api/errors/standard-errors.ts'
import { BrokenInvariant } from '../../../base/assert.ts'
import type { Clock, Timer } from '../../../base/clock.ts'
import { StoreError } from '../../store/store-errors.ts'
import type { StoreEvent, WatchCursor } from '../../store/object-store.ts'
import { revision } from '../../store/revision.ts'
import type { Revision } from '../../store/revision.ts'
import type { WatchStream } from '../calls/verb.ts'
import type { Framing } from '../representations/framing.ts'
import type { RegistryLimits } from '../shared/registry-limits.ts'
import { YieldBudget, yieldToEventLoop } from '../shared/yield-budget.ts'
import type { WatchObserver } from '../shared/watch-observer.ts'
import type { Selection } from './selection.ts'
import type { InitialObjects } from './initial-objects.ts'
import { openCursor, typeOf } from './watch-cursor.ts'
import type { ConvertibleStore } from '../shared/convertible-store.ts'
import { readErrorOf } from '../shared/store-error-mapping.ts'

export type ObjectWatchOptions = {
  readonly store: ConvertibleStore
  readonly clock: Clock
  readonly limits: RegistryLimits
  readonly framing: Framing
  readonly selection: Selection
  /** The matching objects, sent first as ADDED, in order of revision. */
  readonly initial: InitialObjects
  /** null: the revision `after` does not exist yet. */
  readonly cursor: WatchCursor | null
  readonly after: number
  readonly bookmarks: boolean
  /** Annotation of the bookmark that closes the initial events; null: no such bookmark. */
  readonly initialEnd: string | null
  readonly timeoutMs: number
  /** null: nothing measures it. */
  readonly observer: WatchObserver | null
  /**
   * Calls `end` when the kind of the watch was deleted or is no longer served in its version, or
   * its conversion webhook has changed.
   * @returns a function that the caller calls when the watch has ended for any reason
   */
  readonly until: (end: () => void) => () => void
}

/** One watch. Encodes events when the connection pulls them. Nothing is queued here. */
export class ObjectWatch implements WatchStream {
  readonly #options: Omit<ObjectWatchOptions, 'initial' | 'cursor'>
  readonly #end: Timer
  #bookmark: Timer | null = null
  #cursor: WatchCursor | null
  /** null: all were sent. Released then, as it holds versions that may be superseded. */
  #initial: InitialObjects | null
  #pending: readonly StoreEvent[] = []
  #pendingAt = 0
  #bookmarkDue = false
  #timedOut = false
  /** The watch ends once all pending events were sent. */
  #ending = false
  #closed = false
  readonly #leave: () => void
  /** Events of the piece that the connection is taking, and the first change among them. */
  #taking = 0
  #firstTaking: Revision | null = null
  #failure: ApiError | null = null
  #wake: (() => void) | null = null

  constructor({ initial, cursor, ...parts }: ObjectWatchOptions) {
    this.#options = parts
    this.#initial = initial
    this.#cursor = cursor
    this.#end = parts.clock.after(parts.timeoutMs, () => {
      this.#timedOut = true
      this.#wakeUp()
    })
    this.#leave = parts.until(() => {
      this.#ending = true
      this.#wakeUp()
    })
    this.#scheduleBookmark()
    if (cursor === null) this.#openLater(revision(parts.after))
  }

  /** Called when the connection has taken the previous piece. */
  next(): Uint8Array | null | Promise<Uint8Array | null> {
    this.#noteTaken(this.#firstTaking)
    if (this.#closed) return null
    if (this.#failure !== null) return this.fail(this.#failure)
    if (this.#initial !== null) return this.#initialPiece(this.#initial)
    if (this.#pendingAt < this.#pending.length) {
      const piece = this.#pendingPiece()
      if (piece instanceof Promise || piece.length > 0 || this.#pendingAt < this.#pending.length) return piece
    }
    return this.#pull()
  }

  onMore(wake: () => void): void {
    this.#wake = wake
    const pending = this.#initial !== null || this.#pendingAt < this.#pending.length
    const ends = this.#closed || this.#failure !== null || this.#timedOut || this.#ending
    if (pending || ends || this.#bookmarkDue) {
      this.#options.clock.soon(() => this.#wakeUp())
      return
    }
    this.#cursor?.onMore(() => this.#wakeUp())
  }

  close(): void {
    this.#noteTaken(null)
    this.#closed = true
    this.#end.cancel()
    this.#bookmark?.cancel()
    this.#leave()
    this.#cursor?.close()
    this.#initial = null
    this.#pending = []
    this.#wakeUp()
  }

  fail(error: ApiError): Uint8Array {
    this.close()
    return this.#options.framing.error(error)
  }

  #noteTaken(first: Revision | null): void {
    if (this.#taking > 0) this.#options.observer?.sent(this.#taking, first)
    this.#taking = 0
    this.#firstTaking = null
  }

  /** Reads events until some of them match this watch, or no events are left. */
  #pull(): Uint8Array | null | Promise<Uint8Array | null> {
    const cursor = this.#cursor
    if (cursor === null) return this.#quiet(null)
    try {
      for (let pulls = 0; pulls < pullsMax; pulls++) {
        if (this.#timedOut) return this.#quiet(cursor)
        const events = cursor.next(this.#options.limits.watchEventsPerPull)
        if (!('length' in events)) return this.#pullLater(events)
        if (events.length === 0) return this.#quiet(cursor)
        const piece = this.#take(events)
        if (piece instanceof Promise || piece.length > 0) return piece
        if (this.#pendingAt < this.#pending.length) return piece
      }
      return nothing
    } catch (cause) {
      return this.#failWith(cause)
    }
  }

  async #pullLater(later: Promise<readonly StoreEvent[]>): Promise<Uint8Array | null> {
    try {
      const events = await later
      if (this.#closed) return null
      if (events.length > 0) return this.#take(events)
      return this.#cursor === null ? nothing : this.#quiet(this.#cursor)
    } catch (cause) {
      return this.#failWith(cause)
    }
  }

  #take(events: readonly StoreEvent[]): Uint8Array | Promise<Uint8Array | null> {
    this.#pending = events
    this.#pendingAt = 0
    return this.#pendingPiece()
  }

  #pendingPiece(): Uint8Array | Promise<Uint8Array | null> {
    const { clock, framing, limits, selection } = this.#options
    const piece = new Piece(limits.pieceBytes)
    const turn = new YieldBudget(clock, limits)
    while (this.#pendingAt < this.#pending.length && !piece.full && !turn.isSpent) {
      const event = this.#pending[this.#pendingAt++] as StoreEvent
      if (selection.parsesObjects || framing.parsesObjects)
        turn.charge(event.object.byteLength + (event.previous?.byteLength ?? 0))
      const type = typeOf(event, selection)
      if (type !== null) {
        piece.add(framing.frame(event, type))
        this.#firstTaking ??= event.revision
        this.#taking++
      }
    }
    if (this.#pendingAt >= this.#pending.length) this.#pending = []
    return turn.isSpent ? this.#afterTurn(piece.bytes()) : piece.bytes()
  }

  #initialPiece(initial: InitialObjects): Uint8Array | null | Promise<Uint8Array | null> {
    const { store, clock, framing, limits, initialEnd, after } = this.#options
    try {
      // The watch of a client that is slower than the history window ends: it could not resume.
      if (this.#cursor !== null) store.viewAt(revision(after))
    } catch (cause) {
      return this.#failWith(cause)
    }
    const piece = new Piece(limits.pieceBytes)
    const turn = new YieldBudget(clock, limits)
    while (!piece.full) {
      if (turn.isSpent) return this.#afterTurn(piece.bytes())
      if (initial.mustPrepare) return piece.empty ? this.#initialLater(initial) : piece.bytes()
      const { done, value } = initial.next()
      if (done === true) {
        this.#initial = null
        if (initialEnd !== null) {
          piece.add(framing.bookmark(after, initialEnd))
          this.#taking++
        }
        if (piece.empty) return this.#pull()
        break
      }
      if (framing.parsesObjects) turn.charge(value.byteLength)
      for (const part of framing.initial(value)) piece.add(part)
      this.#taking++
    }
    return piece.bytes()
  }

  /** A webhook converts the next initial objects. */
  async #initialLater(initial: InitialObjects): Promise<Uint8Array | null> {
    try {
      await initial.prepare(Number.POSITIVE_INFINITY)
    } catch (cause) {
      return this.#closed ? null : this.#failWith(cause)
    }
    return this.#closed ? null : this.#initialPiece(initial)
  }

  /** Many bytes were read for this small piece: yield before it is sent. */
  async #afterTurn(piece: Uint8Array): Promise<Uint8Array | null> {
    await yieldToEventLoop(this.#options.clock)
    return this.#closed ? null : piece
  }

  /**
   * There are no events. Returns a bookmark if one is due or the watch ends, else nothing; null:
   * the watch has ended, and there is no bookmark to send.
   */
  #quiet(cursor: WatchCursor | null): Uint8Array | null {
    const { bookmarks, framing } = this.#options
    const ends = this.#timedOut || this.#ending
    if (!this.#bookmarkDue && !ends) return nothing
    const bookmark = bookmarks && cursor !== null ? framing.bookmark(cursor.revision, null) : nothing
    this.#bookmarkDue = false
    if (bookmark.length > 0) this.#taking++
    if (ends) this.close()
    else this.#scheduleBookmark()
    return this.#closed && bookmark.length === 0 ? null : bookmark
  }

  #failWith(cause: unknown): Uint8Array {
    if (cause instanceof BrokenInvariant) throw cause
    const error = readErrorOf(cause)
    return this.fail(error instanceof ApiError ? error : internal('the watch cannot go on', { cause }))
  }

  #scheduleBookmark(): void {
    if (!this.#options.bookmarks) return
    this.#bookmark = this.#options.clock.after(this.#options.limits.watchBookmarkPeriodMs, () => {
      this.#bookmarkDue = true
      this.#wakeUp()
    })
  }

  /** Spec 4.8.5: a watch at a future version may wait until it times out. */
  #openLater(after: Revision): void {
    const { store, clock, selection, timeoutMs } = this.#options
    store.waitFor(after, clock.monotonicMs() + timeoutMs).then(
      () => {
        if (this.#closed) return
        try {
          this.#cursor = openCursor(store, selection, after)
        } catch (cause) {
          this.#failLater(cause)
        }
        this.#wakeUp()
      },
      (cause: unknown) => {
        if (cause instanceof StoreError && cause.code === 'future') return
        this.#failLater(cause)
        this.#wakeUp()
      },
    )
  }

  #failLater(cause: unknown): void {
    const error = readErrorOf(cause)
    this.#failure = error instanceof ApiError ? error : internal('the watch cannot go on', { cause })
  }

  #wakeUp(): void {
    const wake = this.#wake
    this.#wake = null
    wake?.()
  }
}

/**
 * Maximum number of reads in one turn, for a watch that matches few of many events; then it yields.
 */
const pullsMax = 16

const nothing = new Uint8Array(0)

/** Frames that are sent together. A single frame is sent as it is, shared by all watches. */
class Piece {
  readonly #bytesMax: number
  readonly #frames: Uint8Array[] = []
  #length = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get full(): boolean {
    return this.#length >= this.#bytesMax
  }

  get empty(): boolean {
    return this.#length === 0
  }

  add(frame: Uint8Array): void {
    this.#frames.push(frame)
    this.#length += frame.length
  }

  bytes(): Uint8Array {
    if (this.#frames.length <= 1) return this.#frames[0] ?? nothing
    return Buffer.concat(this.#frames, this.#length)
  }
}
