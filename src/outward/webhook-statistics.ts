import type { Clock } from '../../base/clock.ts'
import { formatTime } from '../api/metadata/time.ts'
import { CircuitBreaker } from './circuit-breaker.ts'
import type { BreakerState } from './circuit-breaker.ts'
import type { WebhooksChange } from './webhook-clients.ts'

/** The result of one call to a webhook. `skipped`: the webhook was not called. */
export type CallOutcome = 'allowed' | 'denied' | 'failed' | 'skipped'

/** Length of an interval in which calls are counted, in ms, and how many make up a rate. */
const SLOT_MS = 10_000
const SLOTS = 6
/** Weight of the newest call in the average duration. */
const NEWEST = 0.1

/** The calls of this member to one webhook, and the circuit breaker of the webhook. */
export class WebhookStatistics {
  readonly breaker = new CircuitBreaker({ failuresMin: 5, openMsMin: 1000, openMsMax: 10_000 })
  readonly #slots = new Float64Array(SLOTS)
  #slot = 0
  #averageMs: number | null = null
  #counts = { allowed: 0, denied: 0, failed: 0, skipped: 0 }
  #lastFailure: { readonly why: string; readonly wallMs: number } | null = null
  readonly #createdMs: number
  inFlight = 0

  constructor(nowMs: number) {
    this.#createdMs = nowMs
  }

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
      perSecond: calls / (this.#countedMs(nowMs) / 1000),
      averageMs: this.#averageMs,
      breaker: this.breaker.state,
      lastFailure: this.#lastFailure,
    }
  }

  /**
   * Returns the time in which the calls of the slots were made: the newest slot is not over yet,
   * and the first ones may have begun before these statistics did. Shorter times would turn a
   * single call into a high rate.
   */
  #countedMs(nowMs: number): number {
    const firstSlotMs = (this.#slot - SLOTS + 1) * SLOT_MS
    return Math.max(SLOT_MS, nowMs - Math.max(firstSlotMs, this.#createdMs))
  }

  #advance(nowMs: number): void {
    const slot = Math.floor(nowMs / SLOT_MS)
    const empty = Math.min(SLOTS, slot - this.#slot)
    for (let step = 1; step <= empty; step++) this.#slots[(this.#slot + step) % SLOTS] = 0
    this.#slot = slot
    if (empty === SLOTS) this.#slots.fill(0)
  }
}

/** The calls to a webhook as operators see them. */
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
  /**
   * Not called: its circuit breaker was open, its own calls led to this request, or too many calls
   * waited for a connection.
   */
  readonly skipped: number
  readonly inFlight: number
  /** Over about the last minute, or since it was configured; skipped calls included. */
  readonly perSecond: number
  /** null: no call yet. */
  readonly averageMs: number | null
  readonly breaker: BreakerState
  readonly lastFailure: { readonly why: string; readonly wallMs: number } | null
}

/**
 * The statistics of all webhooks. Those of one webhook are kept while its configuration exists,
 * also when the configuration changes.
 */
export class AllWebhookStatistics {
  readonly #of = new WeakMap<Identified, WebhookStatistics>()
  readonly #clock: Pick<Clock, 'monotonicMs'>

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock
  }

  of(webhook: Identified): WebhookStatistics {
    let found = this.#of.get(webhook)
    if (found === undefined) {
      found = new WebhookStatistics(this.#clock.monotonicMs())
      this.#of.set(webhook, found)
    }
    return found
  }

  /** Follows a change of the configured webhooks. */
  follow({ added, removed }: WebhooksChange<Identified>): void {
    const before = new Map(removed.map((webhook) => [webhook.id, webhook]))
    for (const webhook of added) {
      const old = before.get(webhook.id)
      this.#of.set(webhook, this.of(old ?? webhook))
    }
  }
}

/** One version of a webhook; its id is that of the other versions. */
type Identified = { readonly id: string }
