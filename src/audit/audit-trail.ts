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
 * What becomes of a request while its first event is not written:
 * - `blocking`: it waits, and goes on when the event is written or lost; also while the buffer is full
 * - `blocking-strict`: likewise, and is refused when the event is lost
 * - `batch`: it does not wait
 *
 * For a webhook nobody waits.
 */
export type AuditMode = (typeof AUDIT_MODES)[number]

/** How an event is written down. */
const lineAs = { json: eventLine } as const
export type AuditFormat = keyof typeof lineAs

export type AuditTrailParts = {
  readonly policy: AuditPolicy
  readonly names: AuditNames
  readonly mode: AuditMode
  readonly format: AuditFormat
  /** null: none is written. */
  readonly log: Pick<AuditLogWriter, 'add' | 'isFull' | 'whenSettled'> | null
  /** null: nobody is sent any. */
  readonly webhook: Pick<AuditWebhook, 'add'> | null
  readonly metrics: AuditMetrics
}

/** What requests leave behind, as the policy says. */
export class AuditTrail {
  readonly #parts: AuditTrailParts

  constructor(parts: AuditTrailParts) {
    this.#parts = parts
  }

  /** What is kept of a request. Once for each. */
  decide(user: UserInfo | null, action: Action): AuditDecision {
    const decision = auditDecision(this.#parts.policy, user, action)
    this.#parts.metrics.decided(decision.level)
    return decision
  }

  /** @returns false: the log has lost it at once */
  record(event: AuditEvent): boolean {
    const { names, log, webhook, metrics, format } = this.#parts
    metrics.made()
    const line = lineAs[format](event, names, limits.auditEventBytesMax)
    webhook?.add(line)
    return log?.add(line) ?? true
  }

  /**
   * Calls `go` when the request may go on, which may be at once.
   *
   * @param recorded what `record` said of its first event; null: there is none
   * @param go `false`: it must be refused
   * @returns how to wait no longer, for a request that ended before `go` was called; null: it was
   */
  admit(recorded: boolean | null, go: (may: boolean) => void): (() => void) | null {
    const { mode, log, metrics } = this.#parts
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
    // Of lines of others it only matters that they are through.
    const cancel = log.whenSettled((written) => answer(written || recorded === null))
    return () => {
      metrics.rejected()
      cancel()
    }
  }
}
