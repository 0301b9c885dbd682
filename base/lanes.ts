/**
 * Runs `act` for each item, in order, at most `lanes` at a time (1 or more). Every item runs, even
 * if others fail.
 *
 * @returns the results in the order of the items
 */
export async function settledInLanes<T, R>(
  items: readonly T[],
  lanes: number,
  act: (item: T) => Promise<R>,
): Promise<readonly PromiseSettledResult<R>[]> {
  const results = new Array<PromiseSettledResult<R>>(items.length)
  const rest = items.entries()
  const lane = async (): Promise<void> => {
    for (const [at, item] of rest) results[at] = await settled(item, act)
  }
  const count = Math.max(1, Math.min(Math.floor(lanes), items.length))
  await Promise.all(Array.from({ length: count }, lane))
  return results
}

async function settled<T, R>(item: T, act: (item: T) => Promise<R>): Promise<PromiseSettledResult<R>> {
  try {
    return { status: 'fulfilled', value: await act(item) }
  } catch (reason) {
    return { status: 'rejected', reason }
  }
}
