export type BatchOptions = {
  /** Number of concurrent calls, at least 1. */
  readonly size: number
  /** Runs before each batch. It may throw. */
  readonly before?: () => Promise<void>
}

/**
 * Calls `run` with each item: concurrently within a batch, one batch after the other. After a batch
 * with a failure no further batch begins.
 *
 * @returns the number of calls that succeeded, and what the others threw, in order of the items
 */
export async function runInBatches<T>(
  items: readonly T[],
  { size, before }: BatchOptions,
  run: (item: T) => Promise<void>,
): Promise<{ readonly succeeded: number; readonly failures: readonly unknown[] }> {
  for (let at = 0; at < items.length; at += size) {
    await before?.()
    const batch = items.slice(at, at + size)
    const results = await Promise.allSettled(batch.map(run))
    const failures = results.flatMap((one) => (one.status === 'rejected' ? [one.reason as unknown] : []))
    if (failures.length > 0) return { succeeded: at + batch.length - failures.length, failures }
  }
  return { succeeded: items.length, failures: [] }
}
