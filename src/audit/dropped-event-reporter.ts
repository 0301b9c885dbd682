import type { Clock } from '../../base/clock.ts'
import { limits } from '../config/limits.ts'

export type DroppedEventReporterDependencies = {
  readonly clock: Clock
  readonly log: {
    readonly error: (fields: object, message: string) => void
    readonly info: (fields: object, message: string) => void
  }
  /** The destination of the events, a field of every line. */
  readonly where: Readonly<Record<string, string>>
  /** The remedy for the operator. */
  readonly remedy: string
}

/** Logs that audit events were dropped, at limited frequency, and when they are written again. */
export class DroppedEventReporter {
  readonly #dependencies: DroppedEventReporterDependencies
  #dropped = 0
  #reportedMs = Number.NEGATIVE_INFINITY
  #isReported = false

  constructor(dependencies: DroppedEventReporterDependencies) {
    this.#dependencies = dependencies
  }

  dropped(count: number, cause: string): void {
    const { clock, log, where, remedy } = this.#dependencies
    this.#dropped += count
    if (clock.monotonicMs() - this.#reportedMs < limits.auditReportMs) return
    this.#reportedMs = clock.monotonicMs()
    this.#isReported = true
    log.error({ ...where, cause, lost: this.#dropped }, `audit events are lost: ${remedy}`)
  }

  /** Called when events are accepted again. */
  recovered(): void {
    if (!this.#isReported) return
    const { log, where } = this.#dependencies
    log.info({ ...where, lost: this.#dropped }, 'audit events are written again')
    this.#dropped = 0
    this.#isReported = false
  }
}
