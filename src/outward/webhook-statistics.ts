import { formatTime } from '../api/metadata/time.ts'
import { CircuitBreaker } from './circuit-breaker.ts'
import type { BreakerState } from './circuit-breaker.ts'

/** The result of one call of a webhook. `skipped`: it was not made. */
export type CallOutcome = 'allowed' | 'denied' | 'failed' | 'skipped'

/** Intervals that rates are computed over, in ms, and how many of them. */
const SLOT_MS = 10_000
const SLOTS = 6
/** Weight of the newest call in the average duration. */
const NEWEST = 0.1

/** The calls of one webhook by this member, and its circuit breaker. */
export class WebhookStatistics {
  readonly breaker = new CircuitBreaker({ failuresMin: 5, openMsMin: 1000, openMsMax: 10_000 })
  readonly #slots = new Float64Array(SLOTS)
  #slot = 0
  #averageMs: number | null = null
  #counts = { allowed: 0, denied: 0, failed: 0, skipped: 0 }
  #lastFailure: { readonly why: string; readonly wallMs: number } | null = null
  inFlight = 0

  ended(outcome: CallOutcome, durationMs: number, nowMs: number): void {
    this.#counts[outcome]++
    this.#advance(nowMs)
    this.#slots[this.#slot % SLOTS] = (this.#slots[this.#slot % SLOTS] ?? 0) + 1
    if (outcome === 'skipped') return
    const before = this.#averageMs ?? durationMs
    this.#averageMs = before + (durationMs - before) * NEWEST
  }

  failedBecause(why: string, wallMs: number): void {
    this.#lastFailure = { why, wallMs }
  }

  summary(nowMs: number): WebhookSummary {
    this.#advance(nowMs)
    const calls = this.#slots.reduce((sum, count) => sum + count, 0)
    return {
      ...this.#counts,
      inFlight: this.inFlight,
      perSecond: calls / ((SLOT_MS * SLOTS) / 1000),
      averageMs: this.#averageMs,
      breaker: this.breaker.state,
      lastFailure: this.#lastFailure,
    }
  }

  #advance(nowMs: number): void {
    const slot = Math.floor(nowMs / SLOT_MS)
    const empty = Math.min(SLOTS, slot - this.#slot)
    for (let step = 1; step <= empty; step++) this.#slots[(this.#slot + step) % SLOTS] = 0
    this.#slot = slot
    if (empty === SLOTS) this.#slots.fill(0)
  }
}

/** The calls of a webhook as operators see them. */
export type WebhookCalls = Omit<WebhookSummary, 'breaker' | 'lastFailure'> & {
  readonly state: BreakerState
  readonly lastFailure: { readonly why: string; readonly time: string } | null
}

export function describeCalls({ breaker, lastFailure, ...counts }: WebhookSummary): WebhookCalls {
  return {
    state: breaker,
    ...counts,
    lastFailure: lastFailure === null ? null : { why: lastFailure.why, time: formatTime(lastFailure.wallMs) },
  }
}

export type WebhookSummary = {
  readonly allowed: number
  readonly denied: number
  readonly failed: number
  /** Not called: its circuit breaker was open, it was busy, or it called itself. */
  readonly skipped: number
  readonly inFlight: number
  /** Over the last minute. */
  readonly perSecond: number
  /** null: no call yet. */
  readonly averageMs: number | null
  readonly breaker: BreakerState
  readonly lastFailure: { readonly why: string; readonly wallMs: number } | null
}

/**
 * The statistics of all webhooks. Those of webhooks that are no longer configured are dropped, so
 * it is as bounded as the configurations.
 */
export class AllWebhookStatistics {
  readonly #byId = new Map<string, WebhookStatistics>()

  of({ id }: { readonly id: string }): WebhookStatistics {
    let found = this.#byId.get(id)
    if (found === undefined) {
      found = new WebhookStatistics()
      this.#byId.set(id, found)
    }
    return found
  }

  /** @param ids of the webhooks that are configured */
  keepOnly(ids: ReadonlySet<string>): void {
    for (const id of this.#byId.keys()) if (!ids.has(id)) this.#byId.delete(id)
  }
}
