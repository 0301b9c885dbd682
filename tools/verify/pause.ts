import type { Clock } from '../../base/clock.ts'

/** Resolves after `ms`; at once if that is 0 or less. */
export function pause(clock: Clock, ms: number): Promise<void> {
  if (ms <= 0) return Promise.resolve()
  return new Promise((resolve) => {
    clock.after(ms, resolve)
  })
}
