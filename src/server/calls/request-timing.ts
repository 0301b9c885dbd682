import type { AdmissionStep } from '../../registry/calls/request.ts'

/** Steps of one request in `Server-Timing`. More: dropped. */
const STEPS_MAX = 64

/**
 * The time that a request spends in admission. The time in webhooks is always added up, for the
 * duration metric that excludes it. The steps are kept only for a request that may have a trace;
 * see `TRACE_HEADER`.
 */
export class RequestTiming {
  readonly #startedMs: number
  #steps: { readonly step: AdmissionStep; readonly ms: number }[] | null = null
  #mutatingMs = 0
  #validatingMs = 0

  constructor(startedMs: number) {
    this.#startedMs = startedMs
  }

  /** Keeps the steps from now on. */
  trace(): void {
    this.#steps ??= []
  }

  took(step: AdmissionStep, ms: number): void {
    if (step.kind === 'webhook') {
      // Mutating webhooks are called one after another, validating ones in parallel.
      if (step.phase === 'mutating') this.#mutatingMs += ms
      else this.#validatingMs = Math.max(this.#validatingMs, ms)
    }
    if (this.#steps !== null && this.#steps.length < STEPS_MAX) this.#steps.push({ step, ms })
  }

  /** The time in which the request waited for webhooks. */
  get webhooksMs(): number {
    return this.#mutatingMs + this.#validatingMs
  }

  /** Returns the value of `Server-Timing`; null: the steps are not kept. */
  header(nowMs: number): string | null {
    if (this.#steps === null) return null
    const entry = (name: string, ms: number): string => `${name};dur=${ms.toFixed(3)}`
    const steps = this.#steps.map(({ step: { kind, phase, name }, ms }) =>
      entry(`${kind}-${phase}-${name.replace(/[^\w.-]/g, '_')}`, ms),
    )
    return [entry('total', nowMs - this.#startedMs), ...steps].join(', ')
  }
}
