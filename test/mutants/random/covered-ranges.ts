/** From the first offset to before the second. */
export type Range = readonly [start: number, end: number]

/** As V8 reports it: the first range is the function, the others are blocks inside it. */
export type FunctionCoverage = {
  readonly ranges: readonly {
    readonly startOffset: number
    readonly endOffset: number
    readonly count: number
  }[]
}

/** Returns the parts that were executed: the innermost range around a place decides. */
export function coveredRanges(functions: readonly FunctionCoverage[]): readonly Range[] {
  const ranges = functions.flatMap((one) => one.ranges)
  // An outer range begins earlier, or ends later.
  const outerFirst = ranges.toSorted((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset)
  const edges = [...new Set(ranges.flatMap((one) => [one.startOffset, one.endOffset]))].sort((a, b) => a - b)
  const open: { readonly endOffset: number; readonly count: number }[] = []
  const covered: Range[] = []
  let next = 0
  for (const [at, start] of edges.entries()) {
    while ((open.at(-1)?.endOffset ?? Infinity) <= start) open.pop()
    for (; outerFirst[next]?.startOffset === start; next++) open.push(outerFirst[next] ?? never())
    const end = edges[at + 1]
    if (end !== undefined && (open.at(-1)?.count ?? 0) > 0) covered.push([start, end])
  }
  return joined(covered)
}

function never(): never {
  throw new Error('an index is out of range')
}

/** Returns the same offsets as sorted ranges that do not touch. */
export function joined(ranges: readonly Range[]): readonly Range[] {
  const result: [number, number][] = []
  for (const [start, end] of ranges.toSorted(([a], [b]) => a - b)) {
    const last = result.at(-1)
    if (last !== undefined && start <= last[1]) last[1] = Math.max(last[1], end)
    else result.push([start, end])
  }
  return result
}

export function isCovered(ranges: readonly Range[], offset: number): boolean {
  return ranges.some(([start, end]) => start <= offset && offset < end)
}
