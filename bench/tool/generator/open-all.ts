import type { Clock } from '../../../base/clock.ts'
import { pause } from '../../../tools/verify/pause.ts'
import { benchLimits } from '../limits.ts'

/**
 * Opens so many, a few of them at once. One that cannot be opened is tried again: a server that is asked for thousands of
 * connections may be late with some.
 *
 * @throws Error the last failure, when not all stand in time
 */
export async function openAll<T>(
  wanted: readonly T[],
  open: (one: T) => Promise<void>,
  clock: Clock,
): Promise<void> {
  const endMs = clock.monotonicMs() + benchLimits.openingMsMax
  const failures: Error[] = []
  let next = 0
  const opening = async (): Promise<void> => {
    while (failures.length === 0) {
      const one = wanted[next++]
      if (one === undefined) return
      const failure = await opened(() => open(one), clock, endMs)
      if (failure !== null) failures.push(failure)
    }
  }
  await Promise.all(Array.from({ length: benchLimits.openingAtOnce }, opening))
  const [failure] = failures
  if (failure !== undefined) throw failure
}

/** @returns why it does not stand; null: it does */
async function opened(open: () => Promise<void>, clock: Clock, endMs: number): Promise<Error | null> {
  for (;;) {
    try {
      await open()
      return null
    } catch (cause) {
      if (clock.monotonicMs() >= endMs) return cause instanceof Error ? cause : new Error(String(cause))
    }
    await pause(clock, benchLimits.backOffMs)
  }
}
