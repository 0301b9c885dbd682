import type { Clock } from '../../../base/clock.ts'
import { pause } from '../../../tools/verify/pause.ts'
import { benchLimits } from '../limits.ts'

/**
 * Opens all items, a few at a time. Failed attempts are retried: a server may be slow to accept
 * thousands of connections.
 *
 * @throws the last error of an item that could not be opened in time
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
      const failure = await openWithRetries(() => open(one), clock, endMs)
      if (failure !== null) failures.push(failure)
    }
  }
  await Promise.all(Array.from({ length: benchLimits.openingAtOnce }, opening))
  const [failure] = failures
  if (failure !== undefined) throw failure
}

/** Tries until `endMs`. @returns the last error; null: it is open */
async function openWithRetries(
  open: () => Promise<void>,
  clock: Clock,
  endMs: number,
): Promise<Error | null> {
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
