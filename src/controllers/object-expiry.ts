import { BrokenInvariant } from '../../base/assert.ts'
import type { Clock, Timer } from '../../base/clock.ts'
import type { Operation } from '../store/command.ts'
import { StoreError } from '../store/store-errors.ts'
import type { Key, KeyPrefix } from '../store/key.ts'
import { RevisionTimeline } from '../store/revision-timeline.ts'
import type { ObjectStore, StoredObject } from '../store/object-store.ts'
import { noRevision } from '../store/revision.ts'
import type { Revision } from '../store/revision.ts'

export type ObjectExpiryDependencies = {
  readonly store: Pick<ObjectStore, 'view' | 'write'>
  readonly clock: Clock
  /** The objects that expire. */
  readonly prefix: KeyPrefix
  /** Returns the minimum time that an object stays after its last write, in ms. Above 0. */
  readonly ttlMs: () => number
  /** Interval of sweeps, in ms; see `sweepPeriodMs`. */
  readonly periodMs: number
  /** Called with an error of a sweep; the next sweep tries again. */
  readonly onFailure: (cause: unknown) => void
  readonly limits?: ObjectExpiryLimits
}

export type ObjectExpiryLimits = {
  /** Maximum number of objects examined in one turn. */
  readonly pageObjectsMax: number
  /** Pause between turns, for other work. */
  readonly pageGapMs: number
  /** Maximum number of objects deleted by one command; commands run one at a time. */
  readonly batchObjectsMax: number
  /**
   * Pause before the next command: at least `batchGapMs`, and at least `batchGapShare` times the
   * duration of the last one.
   */
  readonly batchGapMs: number
  readonly batchGapShare: number
}

export const defaultObjectExpiryLimits: ObjectExpiryLimits = Object.freeze({
  pageObjectsMax: 500,
  pageGapMs: 5,
  batchObjectsMax: 50,
  batchGapMs: 25,
  batchGapShare: 4,
})

/** Returns the usual interval of sweeps: a hundredth of the retention time, within bounds. */
export function sweepPeriodMs(ttlMs: number): number {
  return Math.min(60_000, Math.max(1000, ttlMs / 100))
}

/**
 * Deletes objects, such as events, that have not been written for a while. The state has no time,
 * so every member records on its own monotonic clock which revision it was at: an object with a
 * revision recorded a full `ttlMs` ago is at least that old, whatever its timestamps. The leader
 * deletes those through the log, with a precondition on the version it saw: an object that was
 * written since stays. Every member records, so a new leader can continue; a process that has just
 * started knows no older revision, and so keeps objects longer, never shorter.
 *
 * No state is kept per object: each sweep walks through all of them, a page per turn.
 */
export class ObjectExpiry {
  readonly #dependencies: ObjectExpiryDependencies
  readonly #limits: ObjectExpiryLimits
  readonly #timeline: RevisionTimeline<Sample>
  #timer: Timer | null = null
  #leading = false
  #sweeping = false
  /** While this member leads: no object is left at or below this revision. */
  #sweptUpTo: Revision = noRevision
  #expired = 0

  constructor(dependencies: ObjectExpiryDependencies) {
    this.#dependencies = dependencies
    this.#limits = dependencies.limits ?? defaultObjectExpiryLimits
    this.#timeline = new RevisionTimeline(dependencies.ttlMs)
  }

  /** Number of objects that this process deleted. */
  get expired(): number {
    return this.#expired
  }

  /** Starts recording revisions; on every member. */
  start(): void {
    const { clock, periodMs } = this.#dependencies
    this.#timer = clock.every(periodMs, () => this.#look())
    this.#look()
  }

  close(): void {
    this.#timer?.cancel()
    this.#leading = false
  }

  /** Called when this member becomes the leader: starts deleting. */
  lead(): void {
    this.#leading = true
    this.#sweptUpTo = noRevision
    this.#look()
  }

  /**
   * Called when this member no longer leads: the command in progress continues to its end; no other
   * begins.
   */
  follow(): void {
    this.#leading = false
  }

  #look(): void {
    const { store, clock } = this.#dependencies
    try {
      const sample = this.#timeline.sample({ atMs: clock.monotonicMs(), revision: store.view().revision })
      if (sample === null || !this.#leading || this.#sweeping || sample.revision <= this.#sweptUpTo) return
      this.#sweeping = true
      void this.#sweep(sample.revision).finally(() => {
        this.#sweeping = false
      })
    } catch (cause) {
      // The state is quarantined: another member should lead.
      if (!(cause instanceof StoreError)) throw cause
    }
  }

  async #sweep(upTo: Revision): Promise<void> {
    try {
      if (await this.#walk(upTo)) this.#sweptUpTo = upTo
    } catch (cause) {
      if (cause instanceof BrokenInvariant) throw cause
      // No quorum, or leadership moved: the next sweep starts again.
      this.#dependencies.onFailure(cause)
    }
  }

  /** Returns whether no object is left at or below `upTo`. */
  async #walk(upTo: Revision): Promise<boolean> {
    const { pageObjectsMax, pageGapMs, batchObjectsMax } = this.#limits
    let isClean = true
    let after: Key | null = null
    let due: StoredObject[] = []
    for (;;) {
      if (!this.#leading) return false
      const { objects, more } = this.#dependencies.store
        .view()
        .list(this.#dependencies.prefix, { after, limit: pageObjectsMax })
      due.push(...objects.filter(({ revision }) => revision <= upTo))
      while (due.length >= batchObjectsMax || (!more && due.length > 0)) {
        if (!this.#leading) return false
        const isGone = await this.#remove(due.slice(0, batchObjectsMax))
        isClean &&= isGone
        due = due.slice(batchObjectsMax)
      }
      if (!more) return isClean
      after = objects.at(-1)?.key ?? after
      await this.#pause(pageGapMs)
    }
  }

  /** Returns whether all of them are deleted, or were written since. */
  async #remove(seen: readonly StoredObject[]): Promise<boolean> {
    const { store, clock } = this.#dependencies
    const { batchGapMs, batchGapShare } = this.#limits
    for (let tries = 0; tries < triesMax; tries++) {
      if (!this.#leading) return false
      const view = store.view()
      const operations = seen.filter(({ key, revision }) => view.get(key)?.revision === revision).map(removal)
      if (operations.length === 0) return true
      const beganMs = clock.monotonicMs()
      const outcome = await store.write({ kind: 'write', operations }, beganMs + writeMsMax)
      if (outcome.kind === 'done') this.#expired += operations.length
      await this.#pause(Math.max(batchGapMs, batchGapShare * (clock.monotonicMs() - beganMs)))
      if (outcome.kind === 'done') return true
      // One of the objects was written: the view shows which.
    }
    return false
  }

  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      this.#dependencies.clock.after(ms, resolve)
    })
  }
}

type Sample = { readonly atMs: number; readonly revision: Revision }

/** Attempts per batch under concurrent writes; the rest is left to the next sweep. */
const triesMax = 3
const writeMsMax = 10_000

/** A revision belongs to one write of one object, so it identifies the object, too. */
function removal({ key, revision }: StoredObject): Operation {
  return { kind: 'delete', key, conditions: [{ kind: 'revision-is', revision }] }
}
