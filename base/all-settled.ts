/**
 * Runs `act` for each item, in order, at most `limit` at a time (rounded down, at least 1). Every
 * item runs, even if others fail.
 *
 * @returns the results in the order of the items
 */
export async function allSettledWithLimit<T, R>(
  items: readonly T[],
  limit: number,
  act: (item: T) => Promise<R>,
): Promise<readonly PromiseSettledResult<R>[]> {
  const results = new Array<PromiseSettledResult<R>>(items.length)
  const rest = items.entries()
  const runRest = async (): Promise<void> => {
    for (const [at, item] of rest) results[at] = await settled(item, act)
  }
  const count = Math.max(1, Math.min(Math.floor(limit), items.length))
  await Promise.all(Array.from({ length: count }, runRest))
  return results
}

async function settled<T, R>(item: T, act: (item: T) => Promise<R>): Promise<PromiseSettledResult<R>> {
  try {
    return { status: 'fulfilled', value: await act(item) }
  } catch (reason) {
    return { status: 'rejected', reason }
  }
}
