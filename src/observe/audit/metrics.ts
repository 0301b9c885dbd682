import { Counter } from 'prom-client'
import type { Registry } from 'prom-client'
import type { AuditLevel } from './policy.ts'

/** Names and labels are upstream's, as dashboards expect them. */
export class AuditMetrics {
  readonly #events: Counter
  readonly #errors: Counter<'plugin'>
  readonly #levels: Counter<'level'>
  readonly #rejected: Counter

  constructor(registry: Registry) {
    const registers = [registry]
    this.#events = new Counter({
      name: 'apiserver_audit_event_total',
      help: 'Audit events that were made.',
      registers,
    })
    this.#errors = new Counter({
      name: 'apiserver_audit_error_total',
      help: 'Audit events that were lost: log, webhook: as they could not be written or sent; buffered: as too many waited for that.',
      labelNames: ['plugin'],
      registers,
    })
    this.#levels = new Counter({
      name: 'apiserver_audit_level_total',
      help: 'Requests, by how much of them the audit policy keeps.',
      labelNames: ['level'],
      registers,
    })
    this.#rejected = new Counter({
      name: 'apiserver_audit_requests_rejected_total',
      help: 'Requests that were refused, or ran out of time, because the audit log could not take their event.',
      registers,
    })
  }

  made(): void {
    this.#events.inc()
  }

  lost(plugin: 'log' | 'webhook' | 'buffered', count: number): void {
    this.#errors.inc({ plugin }, count)
  }

  decided(level: AuditLevel): void {
    this.#levels.inc({ level })
  }

  rejected(): void {
    this.#rejected.inc()
  }
}
