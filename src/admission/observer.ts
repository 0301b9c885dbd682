import type { Clock } from '../../base/clock.ts'
import type { AdmissionRequest } from '../registry/calls/admission.ts'
import type { AdmissionMetrics } from './admission-metrics.ts'
import type { AdmissionFunction, AdmissionObserver, AdmissionPhase } from './chain.ts'

/**
 * Measures admission for metrics, and for requests that ask for a trace. Reading the clock is most
 * of its cost: where plugins run one after another without waiting, the end of one counts as the
 * beginning of the next.
 */
export function admissionObserver(dependencies: {
  readonly clock: Clock
  readonly metrics: Pick<AdmissionMetrics, 'timer'>
}): AdmissionObserver {
  const { clock, metrics } = dependencies
  /** The request that was measured last, without waiting since then, and the time; null: none. */
  let last: AdmissionRequest['context'] | null = null
  let lastMs = 0
  const measured = <T>(
    name: string | null,
    phase: AdmissionPhase,
    run: AdmissionFunction<T>,
  ): AdmissionFunction<T> => {
    const timer = metrics.timer(name, phase === 'mutating' ? 'admit' : 'validate')
    const step = name === null ? null : ({ kind: 'plugin', phase, name } as const)
    const took = (request: AdmissionRequest, ms: number, rejected: boolean): void => {
      timer.observe(request.operation, rejected, ms)
      if (step !== null) request.context.request.admissionTook?.(step, ms)
    }
    /**
     * Returns the time at which a function that did not wait ended. A phase ends with its last
     * plugin.
     */
    const end = (context: AdmissionRequest['context']): number => {
      if (step === null && last === context) {
        last = null
        return lastMs
      }
      last = context
      lastMs = clock.monotonicMs()
      return lastMs
    }
    return (request) => {
      const { context } = request
      const startedMs = step !== null && last === context ? lastMs : clock.monotonicMs()
      last = context
      lastMs = startedMs
      let result: T
      try {
        result = run(request)
      } catch (cause) {
        took(request, end(context) - startedMs, true)
        last = null
        throw cause
      }
      if (!(result instanceof Promise)) {
        took(request, end(context) - startedMs, false)
        return result
      }
      last = null
      void result.then(
        () => took(request, clock.monotonicMs() - startedMs, false),
        () => took(request, clock.monotonicMs() - startedMs, true),
      )
      return result
    }
  }
  return {
    plugin: (name, phase, run) => measured(name, phase, run),
    step: (phase, run) => measured(null, phase, run),
  }
}
