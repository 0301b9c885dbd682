import { basename } from 'node:path'
import { nameOf } from '../mutant.ts'
import type { Check } from '../mutant.ts'
import type { Recorded } from './coverage.ts'
import { isCovered } from './covered-ranges.ts'

export type CoveringCheck = { readonly check: Check; readonly recorded: Recorded }

/** Limits of the cost of one mutation. */
export type Bounds = { readonly checksMax: number; readonly secondsMax: number }

/**
 * Returns the checks that execute a place: first the tests that are named after the file, then the
 * others, the quickest first, within the bounds.
 *
 * @param offset the place in the compiled text
 */
export function checksFor(
  file: string,
  offset: number,
  all: readonly CoveringCheck[],
  { checksMax, secondsMax }: Bounds,
): readonly CoveringCheck[] {
  const own = `/${basename(file, '.ts')}.test.ts`
  const rank = ({ check }: CoveringCheck): number => (nameOf(check).endsWith(own) ? 0 : 1)
  const covering = all
    .filter(({ recorded }) => recorded.passes && isCovered(recorded.ranges[file] ?? [], offset))
    .sort((a, b) => rank(a) - rank(b) || a.recorded.seconds - b.recorded.seconds)
  const chosen: CoveringCheck[] = []
  let seconds = 0
  for (const one of covering.slice(0, checksMax)) {
    seconds += one.recorded.seconds
    if (seconds > secondsMax && chosen.length > 0) break
    chosen.push(one)
  }
  return chosen
}

/**
 * Returns the offset at which two compiled texts first differ. The texts come from the same
 * compiler, so this is the place of the mutation in the text whose coverage was recorded.
 */
export function firstDifference(a: string, b: string): number {
  let at = 0
  while (at < a.length && a[at] === b[at]) at++
  return at
}
