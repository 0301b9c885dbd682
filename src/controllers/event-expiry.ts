import { BrokenInvariant } from '../../base/assert.ts'
import type { Clock, Timer } from '../../base/clock.ts'
import type { Operation } from '../store/command.ts'
import { StoreError } from '../store/store-errors.ts'
import { prefixOf } from '../store/key.ts'
import type { Key } from '../store/key.ts'
import { RevisionTimeline } from '../store/revision-timeline.ts'
import type { ObjectStore, StoredObject } from '../store/object-store.ts'
import { noRevision } from '../store/revision.ts'
import type { Revision } from '../store/revision.ts'

export type EventExpiryParts = {
  readonly store: Pick<ObjectStore, 'view' | 'write'>
  readonly clock: Clock
  /** How long an event stays after it was last written, at least. Above 0. */
  readonly ttlMs: number
  /** Something went wrong that the next look makes good. */
  readonly onFailure: (cause: unknown) => void
  readonly limits?: EventExpiryLimits
}

export type EventExpiryLimits = {
  /** Events looked at in one turn. */
  readonly pageEventsMax: number
  /** Then others have theirs, for this long. */
  readonly pageGapMs: number
  /** Events that one command deletes; one command at a time. */
  readonly batchEventsMax: number
  /** Before the next command: this long at least, and so many times what the last one took. */
  readonly batchGapMs: number
  readonly batchGapShare: number
  /** Between two looks; a hundredth of the time that events stay, within these bounds. */
  readonly lookMsMin: number
  readonly lookMsMax: number
}

export const defaultEventExpiryLimits: EventExpiryLimits = Object.freeze({
  pageEventsMax: 500,
  pageGapMs: 5,
  batchEventsMax: 50,
  batchGapMs: 25,
  batchGapShare: 4,
  lookMsMin: 1000,
  lookMsMax: 60_000,
})

/**
 * Deletes events that nobody wrote for a while. The state knows no time, so every member notes by its own monotonic clock
 * which revision it was at: an event of a revision that was noted a whole `ttlMs` ago is as old at least, whatever it says of
 * itself. Whoever leads deletes those, through the log, and only as they were seen: an event that is written meanwhile lives
 * on. Every member notes, so whoever takes over goes on; a process that has just started knows nothing older than itself,
 * and lets events stay longer, never shorter.
 *
 * Nothing is kept of events: each look walks through all of them, a page a turn.
 */
export class EventExpiry {
  readonly #parts: EventExpiryParts
  readonly #limits: EventExpiryLimits
  readonly #notes: RevisionTimeline<Note>
  #timer: Timer | null = null
  #leading = false
  #sweeping = false
  /** While this member leads: nothing is left at or below. */
  #sweptUpTo: Revision = noRevision
  #expired = 0

  constructor(parts: EventExpiryParts) {
    this.#parts = parts
    this.#limits = parts.limits ?? defaultEventExpiryLimits
    this.#notes = new RevisionTimeline(() => parts.ttlMs)
  }

  /** Events that this process deleted. */
  get expired(): number {
    return this.#expired
  }

  /** Begins to take notes; on every member. */
  start(): void {
    const { lookMsMin, lookMsMax } = this.#limits
    const periodMs = Math.min(lookMsMax, Math.max(lookMsMin, this.#parts.ttlMs / 100))
    this.#timer = this.#parts.clock.every(periodMs, () => this.#look())
    this.#look()
  }

  close(): void {
    this.#timer?.cancel()
    this.#leading = false
  }

  /** This member leads: it deletes. */
  lead(): void {
    this.#leading = true
    this.#sweptUpTo = noRevision
    this.#look()
  }

  /** It leads no more: what is under way goes on to its end, nothing new begins. */
  follow(): void {
    this.#leading = false
  }

  #look(): void {
    const { store, clock } = this.#parts
    try {
      const note = this.#notes.look({ atMs: clock.monotonicMs(), revision: store.view().revision })
      if (note === null || !this.#leading || this.#sweeping || note.revision <= this.#sweptUpTo) return
      this.#sweeping = true
      void this.#sweep(note.revision).finally(() => {
        this.#sweeping = false
      })
    } catch (cause) {
      // The state is not to be trusted: another member should lead.
      if (!(cause instanceof StoreError)) throw cause
    }
  }

  async #sweep(upTo: Revision): Promise<void> {
    try {
      if (await this.#walk(upTo)) this.#sweptUpTo = upTo
    } catch (cause) {
      if (cause instanceof BrokenInvariant) throw cause
      // No quorum, or leadership went elsewhere: the next look begins anew.
      this.#parts.onFailure(cause)
    }
  }

  /** @returns whether nothing is left at or below `upTo` */
  async #walk(upTo: Revision): Promise<boolean> {
    const { pageEventsMax, pageGapMs, batchEventsMax } = this.#limits
    let isClean = true
    let after: Key | null = null
    let due: StoredObject[] = []
    for (;;) {
      if (!this.#leading) return false
      const { objects, more } = this.#parts.store.view().list(eventPrefix, { after, limit: pageEventsMax })
      due.push(...objects.filter(({ revision }) => revision <= upTo))
      while (due.length >= batchEventsMax || (!more && due.length > 0)) {
        if (!this.#leading) return false
        const isGone = await this.#remove(due.slice(0, batchEventsMax))
        isClean &&= isGone
        due = due.slice(batchEventsMax)
      }
      if (!more) return isClean
      after = objects.at(-1)?.key ?? after
      await this.#pause(pageGapMs)
    }
  }

  /** @returns whether all of them are gone, or were written since */
  async #remove(seen: readonly StoredObject[]): Promise<boolean> {
    const { store, clock } = this.#parts
    const { batchGapMs, batchGapShare } = this.#limits
    for (let tries = 0; tries < triesMax; tries++) {
      const view = store.view()
      const operations = seen.filter(({ key, revision }) => view.get(key)?.revision === revision).map(removal)
      if (operations.length === 0) return true
      const beganMs = clock.monotonicMs()
      const outcome = await store.write({ kind: 'write', operations }, beganMs + writeMsMax)
      if (outcome.kind === 'done') this.#expired += operations.length
      await this.#pause(Math.max(batchGapMs, batchGapShare * (clock.monotonicMs() - beganMs)))
      if (outcome.kind === 'done') return true
      // Somebody wrote one of them: the view tells which.
    }
    return false
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#parts.clock.after(ms, resolve)
    })
  }
}

type Note = { readonly atMs: number; readonly revision: Revision }

const eventPrefix = prefixOf({ group: '', plural: 'events', namespace: null })
/** A batch of which somebody writes another one each time is left to the next look. */
const triesMax = 3
const writeMsMax = 10_000

/** A revision is of one write of one object, so it says which object too. */
function removal({ key, revision }: StoredObject): Operation {
  return { kind: 'delete', key, conditions: [{ kind: 'revision-is', revision }] }
}
