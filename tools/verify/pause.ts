import type { Clock } from '../../base/clock.ts'

/** @param ms resolves at once unless above 0 */
export function pause(clock: Clock, ms: number): Promise<void> {
  if (ms <= 0) return Promise.resolve()
  return new Promise((resolve) => {
    clock.after(ms, resolve)
  })
}
