import type { Clock } from '../../base/clock.ts'
import { limits } from '../config/limits.ts'

export type FailureLogDependencies = {
  readonly clock: Clock
  readonly log: {
    readonly warn: (fields: object, message: string) => void
    readonly info: (fields: object, message: string) => void
  }
}

export type FailureLogOptions = {
  /** The other server, such as `authentication webhook`. */
  readonly what: string
  /** Its URL without credentials. */
  readonly url: string
}

/**
 * Logs that calls to another server fail, and when they succeed again: at most one line of each per
 * `limits.outwardFailureLogMs`. Each line has the number of failures since the last line that
 * reported success.
 */
export class FailureLog {
  readonly #options: FailureLogOptions
  readonly #dependencies: FailureLogDependencies
  /** Failures since the last line that reported success. */
  #failures = 0
  #isReported = false
  #reportedMs = Number.NEGATIVE_INFINITY

  constructor(options: FailureLogOptions, dependencies: FailureLogDependencies) {
    this.#options = options
    this.#dependencies = dependencies
  }

  failed(cause: string): void {
    const { clock, log } = this.#dependencies
    const { what, url } = this.#options
    this.#failures++
    const nowMs = clock.monotonicMs()
    if (nowMs - this.#reportedMs < limits.outwardFailureLogMs) return
    this.#reportedMs = nowMs
    this.#isReported = true
    log.warn({ url, cause, failures: this.#failures }, `calls of the ${what} fail`)
  }

  succeeded(): void {
    if (!this.#isReported) return
    const { log } = this.#dependencies
    const { what, url } = this.#options
    log.info({ url, failures: this.#failures }, `calls of the ${what} succeed again`)
    this.#failures = 0
    this.#isReported = false
  }
}
