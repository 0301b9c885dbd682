import type { Clock } from '../../base/clock.ts'
import { Controller } from './controller.ts'

export type SigningKeysDependencies = {
  readonly clock: Clock
  /** Time between two checks, and longest time between two attempts. */
  readonly periodMs: number
  /** Takes the next step. @returns false: there may be more to do */
  readonly maintain: () => Promise<boolean>
  readonly onError: (cause: unknown) => void
}

const everything = 'signing keys'

/**
 * Maintains the signing keys that all members share: creates the first one, seals it for members
 * that join, and rotates them. It checks periodically, as time alone can make a rotation due.
 */
export function signingKeys({ clock, periodMs, maintain, onError }: SigningKeysDependencies): {
  start(): void
  stop(): void
} {
  const controller = new Controller({
    clock,
    reconcile: async () => ({ kind: (await maintain()) ? 'done' : 'again' }),
    keys: () => [everything],
    onError: (_key, cause) => onError(cause),
    limits: { keysMax: 1, backoffMsMin: 50, backoffMsMax: periodMs },
  })
  let timer: ReturnType<Clock['every']> | null = null
  return {
    start: () => {
      controller.start()
      timer ??= clock.every(periodMs, () => controller.enqueue(everything))
    },
    stop: () => {
      timer?.cancel()
      timer = null
      controller.stop()
    },
  }
}
