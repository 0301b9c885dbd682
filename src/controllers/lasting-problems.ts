import { BrokenInvariant } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import { ApiError } from '../api/errors/api-error.ts'
import { StoreError } from '../store/store-errors.ts'
import type { Reconciled } from './controller.ts'
import type { EventSubject, EventText } from './event-object.ts'
import type { EventRecorder } from './event-recorder.ts'

export type Problem = {
  /** Returns the objects that the events are about. Called only if an event is due. */
  readonly about: () => Promise<readonly EventSubject[]> | readonly EventSubject[]
  readonly reason: string
  readonly message: string
}

type Known = {
  readonly sinceMs: number
  readonly seenMs: number
  /** null: no event was recorded. */
  readonly reportedMs: number | null
}

/** The time after which a problem is recorded. Shorter ones end by retries. */
export const problemMsMin = 60_000
/** Interval of events about a problem that goes on. */
export const problemRepeatMs = 1_800_000
/** A problem that is not seen for this long has ended; several times the longest retry delay. */
const quietMsMax = 300_000
/** Maximum number of problems; more are not recorded until others have ended. */
const problemsMax = 10_000

/** Errors of the cluster or this member, not of an object: events could not be stored either. */
const ofMember: ReadonlySet<ApiError['code']> = new Set(['ServiceUnavailable', 'Timeout', 'TooManyRequests'])

/**
 * Records a Warning event about a problem of a key that lasts for a minute, and then every half
 * hour. Most problems, such as conflicts or objects that are deleted in a moment, end by retries
 * and need no person.
 */
export class LastingProblems {
  readonly #clock: Clock
  readonly #events: Pick<EventRecorder, 'record'>
  /** By reason and key. The one that was seen least recently is first. */
  readonly #known = new Map<string, Known>()
  /** Those of `#known`. Bounded, because each is a constant of the caller. */
  readonly #reasons = new Set<string>()

  constructor(of: { readonly clock: Clock; readonly events: Pick<EventRecorder, 'record'> }) {
    this.#clock = of.clock
    this.#events = of.events
  }

  /**
   * Called each time that a problem of a key is seen. Another reason is another problem: it may
   * follow one that was recorded, and needs something else from a person.
   *
   * @param msMin how long it has to last. 0: retries cannot end it
   * @returns whether an event was recorded, now or before
   */
  async found(key: string, { about, reason, message }: Problem, msMin = problemMsMin): Promise<boolean> {
    const nowMs = this.#clock.monotonicMs()
    const id = idOf(reason, key)
    const before = this.#known.get(id)
    if (before === undefined && !this.#hasSpace(nowMs)) return false
    const isSame = before !== undefined && (msMin === 0 || nowMs - before.seenMs <= quietMsMax)
    const { sinceMs, reportedMs } = isSame ? before : { sinceMs: nowMs, reportedMs: null }
    const isNews = reportedMs === null || nowMs - reportedMs >= problemRepeatMs
    const isDue = isNews && nowMs - sinceMs >= msMin
    this.#reasons.add(reason)
    this.#known.delete(id)
    this.#known.set(id, { sinceMs, seenMs: nowMs, reportedMs: isDue ? nowMs : reportedMs })
    if (!isDue || (await this.#isRecorded(about, { type: 'Warning', reason, message }))) {
      return isDue || reportedMs !== null
    }
    // The event is due again when the problem is seen again.
    this.#known.set(id, { sinceMs, seenMs: nowMs, reportedMs })
    return reportedMs !== null
  }

  /** @returns false: a subject could not be read, or every event was dropped */
  async #isRecorded(about: Problem['about'], text: EventText): Promise<boolean> {
    try {
      const subjects = await about()
      const taken = subjects.map((one) => this.#events.record(one, text))
      return subjects.length === 0 || taken.includes(true)
    } catch (cause) {
      if (cause instanceof BrokenInvariant) throw cause
      return false
    }
  }

  /**
   * Forgets problems that have ended, if there are too many. One that goes on stays: if each new
   * one replaced it, none of them would ever last for a minute.
   */
  #hasSpace(nowMs: number): boolean {
    for (const [id, { seenMs }] of this.#known) {
      if (this.#known.size < problemsMax || nowMs - seenMs <= quietMsMax) break
      this.#known.delete(id)
    }
    return this.#known.size < problemsMax
  }

  /** All problems of the key have ended. */
  solved(key: string): void {
    for (const reason of this.#reasons) this.#known.delete(idOf(reason, key))
  }

  /**
   * Returns a `reconcile` that also records errors that last. `done` ends a problem of the key.
   *
   * @param problemOf the problem that an error is. null: none
   */
  watched(
    reconcile: (key: string) => Promise<Reconciled>,
    problemOf: (key: string, words: string, cause: unknown) => Problem | null,
  ): (key: string) => Promise<Reconciled> {
    return async (key) => {
      try {
        const result = await reconcile(key)
        if (result.kind === 'done') this.solved(key)
        return result
      } catch (cause) {
        if (cause instanceof Error && !isOfMember(cause)) {
          const problem = problemOf(key, cause.message, cause)
          if (problem !== null) await this.found(key, problem)
        }
        throw cause
      }
    }
  }
}

/** Reasons have no spaces. */
function idOf(reason: string, key: string): string {
  return `${reason} ${key}`
}

function isOfMember(cause: Error): boolean {
  if (cause instanceof BrokenInvariant || cause instanceof StoreError) return true
  return cause instanceof ApiError && ofMember.has(cause.code)
}
