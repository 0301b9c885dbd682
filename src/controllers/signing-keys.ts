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
 * Maintains keys that all members share, those of tokens or those of the signing authorities:
 * creates the first one, and seals them for members that join. It checks periodically, as time
 * alone can make a step due, such as a rotation.
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
