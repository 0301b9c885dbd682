import type { Clock, Timer } from '../../base/clock.ts'
import type { Controller } from './controller.ts'
import type { WorkQueue } from './work-queue.ts'

/** A controller whose keys also become due as time passes. */
export type PeriodicController = {
  readonly queue: WorkQueue
  start(): void
  stop(): void
}

/** Interval of looking for due keys, unless the caller gives another one. */
const defaultPeriodMs = 10_000

/**
 * Adds a timer to a controller.
 *
 * @param due called regularly while the controller runs; returns the keys to enqueue
 */
export function periodicController(
  controller: Controller,
  of: { readonly clock: Clock; readonly periodMs?: number; readonly due: () => Iterable<string> },
): PeriodicController {
  const { clock, periodMs = defaultPeriodMs, due } = of
  let timer: Timer | null = null
  return {
    queue: controller.queue,
    start: () => {
      controller.start()
      timer ??= clock.every(periodMs, () => {
        for (const key of due()) controller.enqueue(key)
      })
    },
    stop: () => {
      timer?.cancel()
      timer = null
      controller.stop()
    },
  }
}
