import type { Action } from '../api/action.ts'
import type { UserInfo } from '../api/metadata/object.ts'
import { limits } from '../config/limits.ts'
import { eventLine } from './audit-event.ts'
import type { AuditEvent, AuditNames } from './audit-event.ts'
import type { AuditLogWriter } from './audit-log-writer.ts'
import type { AuditMetrics } from './audit-metrics.ts'
import { auditDecision } from './audit-policy.ts'
import type { AuditDecision, AuditPolicy } from './audit-policy.ts'
import type { AuditWebhook } from './audit-webhook.ts'

export const AUDIT_MODES = ['blocking', 'blocking-strict', 'batch'] as const

/**
 * How a request waits for its first event:
 * - `blocking`: until the event is written or dropped; a request without an event waits for the
 *   events of others if the buffer is full
 * - `blocking-strict`: likewise, and the request is rejected when its event is dropped
 * - `batch`: not at all
 *
 * No request waits for a webhook.
 */
export type AuditMode = (typeof AUDIT_MODES)[number]

/** The encodings of events. */
const lineAs = { json: eventLine } as const
export type AuditFormat = keyof typeof lineAs

export type AuditTrailDependencies = {
  readonly policy: AuditPolicy
  readonly names: AuditNames
  readonly mode: AuditMode
  readonly format: AuditFormat
  /** null: no log. */
  readonly log: Pick<AuditLogWriter, 'add' | 'isFull' | 'whenSettled'> | null
  /** null: no webhook. */
  readonly webhook: Pick<AuditWebhook, 'add'> | null
  readonly metrics: AuditMetrics
}

/** Records requests as the policy demands. */
export class AuditTrail {
  readonly #dependencies: AuditTrailDependencies

  constructor(dependencies: AuditTrailDependencies) {
    this.#dependencies = dependencies
  }

  /** Decides how much of a request is recorded. Once per request. */
  decide(user: UserInfo | null, action: Action): AuditDecision {
    const decision = auditDecision(this.#dependencies.policy, user, action)
    this.#dependencies.metrics.decided(decision.level)
    return decision
  }

  /** Returns false: the log dropped it at once. */
  record(event: AuditEvent): boolean {
    const { names, log, webhook, metrics, format } = this.#dependencies
    metrics.made()
    const line = lineAs[format](event, names, limits.auditEventBytesMax)
    webhook?.add(line)
    return log?.add(line) ?? true
  }

  /**
   * Calls `go` when the request may continue, possibly at once.
   *
   * @param recorded the result of `record` for its first event; null: it has no event
   * @param go `false`: it must be rejected
   * @returns a function that cancels the wait, for a request that ended before `go` was called;
   * null: it was called
   */
  admit(recorded: boolean | null, go: (may: boolean) => void): (() => void) | null {
    const { mode, log, metrics } = this.#dependencies
    const isStrict = mode === 'blocking-strict'
    const answer = (written: boolean): void => {
      const may = written || !isStrict
      if (!may) metrics.rejected()
      go(may)
    }
    if (isStrict && recorded === false) {
      answer(false)
      return null
    }
    const waits = mode !== 'batch' && log !== null && (recorded !== null || log.isFull)
    if (!waits) {
      go(true)
      return null
    }
    // For lines of other requests it only matters that they are settled.
    const cancel = log.whenSettled((written) => answer(written || recorded === null))
    return () => {
      metrics.rejected()
      cancel()
    }
  }
}
