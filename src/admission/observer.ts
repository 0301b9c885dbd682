import type { Clock } from '../../base/clock.ts'
import type { AdmissionRequest } from '../registry/calls/admission.ts'
import type { AdmissionMetrics } from './admission-metrics.ts'
import type { AdmissionFunction, AdmissionObserver, AdmissionPhase } from './chain.ts'

/** Measures admission for metrics, and for requests that ask for a trace. */
export function admissionObserver(dependencies: {
  readonly clock: Clock
  readonly metrics: Pick<AdmissionMetrics, 'timer'>
}): AdmissionObserver {
  const { clock, metrics } = dependencies
  const measured = <T>(
    name: string | null,
    phase: AdmissionPhase,
    run: AdmissionFunction<T>,
  ): AdmissionFunction<T> => {
    const timer = metrics.timer(name, phase === 'mutating' ? 'admit' : 'validate')
    const step = name === null ? null : ({ kind: 'plugin', phase, name } as const)
    const took = (request: AdmissionRequest, startedMs: number, rejected: boolean): void => {
      const ms = clock.monotonicMs() - startedMs
      timer.observe(request.operation, rejected, ms)
      if (step !== null) request.context.request.admissionTook?.(step, ms)
    }
    return (request) => {
      const startedMs = clock.monotonicMs()
      let result: T
      try {
        result = run(request)
      } catch (cause) {
        took(request, startedMs, true)
        throw cause
      }
      if (!(result instanceof Promise)) {
        took(request, startedMs, false)
        return result
      }
      void result.then(
        () => took(request, startedMs, false),
        () => took(request, startedMs, true),
      )
      return result
    }
  }
  return {
    plugin: (name, phase, run) => measured(name, phase, run),
    step: (phase, run) => measured(null, phase, run),
  }
}
