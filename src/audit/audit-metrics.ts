import { Counter } from 'prom-client'
import type { Registry } from 'prom-client'
import type { AuditLevel } from './audit-policy.ts'

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
      help: 'Audit events that were generated.',
      registers,
    })
    this.#errors = new Counter({
      name: 'apiserver_audit_error_total',
      help: 'Lost audit events: could not be written (log) or sent (webhook), or too many were waiting (buffered).',
      labelNames: ['plugin'],
      registers,
    })
    this.#levels = new Counter({
      name: 'apiserver_audit_level_total',
      help: 'Requests by audit level.',
      labelNames: ['level'],
      registers,
    })
    this.#rejected = new Counter({
      name: 'apiserver_audit_requests_rejected_total',
      help: 'Requests that were refused or timed out because the audit log could not accept their event.',
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
