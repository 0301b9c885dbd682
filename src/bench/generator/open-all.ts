import { benchLimits } from '../limits.ts'

/** Opens so many, a few of them at once. @throws the first failure, once none is being opened any more */
export async function openAll<T>(wanted: readonly T[], open: (one: T) => Promise<void>): Promise<void> {
  let next = 0
  const failures: Error[] = []
  const opening = async (): Promise<void> => {
    for (;;) {
      const one = wanted[next++]
      if (one === undefined || failures.length > 0) return
      try {
        await open(one)
      } catch (cause) {
        failures.push(cause instanceof Error ? cause : new Error(String(cause)))
      }
    }
  }
  await Promise.all(Array.from({ length: benchLimits.openingAtOnce }, opening))
  const [failure] = failures
  if (failure !== undefined) throw failure
}
