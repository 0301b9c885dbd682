import type { CostRule } from '../cost/cost-rule.ts'
import { sizeAt } from '../cost/cost-rule.ts'
import { ONE, add, exactly, multiply } from '../cost/range.ts'
import type { Evaluation } from '../evaluate/evaluation.ts'
import { celBool } from '../types.ts'
import { itemsOf } from '../values/concat-lists.ts'
import { equal } from '../values/equal.ts'
import type { CelList, CelValue } from '../values/value.ts'
import { CelFailure } from '../values/value.ts'
import type { FunctionEntry, Outcome } from './overload.ts'
import { call2 } from './overload.ts'
import { listOf, typeA } from './params.ts'

/** Each element is compared with each of the other list. */
function pairs(passes: number): CostRule {
  return {
    actual: ([a = null, b = null], _, evaluation) => 1 + evaluation.sizeOf(a) * evaluation.sizeOf(b) * passes,
    estimate: (args) => ({
      cost: add(ONE, multiply(multiply(sizeAt(args, 0), sizeAt(args, 1)), exactly(passes))),
    }),
  }
}

const listOfA = listOf(typeA)

/**
 * Lists as sets.
 *
 * @source cel-go `ext/sets.go`
 */
export const sets: readonly FunctionEntry[] = [
  ['sets.contains', call2(listOfA, listOfA, celBool, containsAll, pairs(1))],
  [
    'sets.equivalent',
    call2(
      listOfA,
      listOfA,
      celBool,
      (a, b, evaluation) => {
        const first = containsAll(a, b, evaluation)
        return first === true ? containsAll(b, a, evaluation) : first
      },
      pairs(2),
    ),
  ],
  [
    'sets.intersects',
    call2(
      listOfA,
      listOfA,
      celBool,
      (a, b, evaluation) => {
        const [items, others] = [itemsOf(a, evaluation), itemsOf(b, evaluation)]
        if (items instanceof CelFailure) return items
        if (others instanceof CelFailure) return others
        return search(others, (other) => includes(items, other, evaluation), true)
      },
      pairs(1),
    ),
  ],
]

function containsAll(list: CelList, part: CelList, evaluation: Evaluation): Outcome {
  const [items, parts] = [itemsOf(list, evaluation), itemsOf(part, evaluation)]
  if (items instanceof CelFailure) return items
  if (parts instanceof CelFailure) return parts
  return search(parts, (value) => includes(items, value, evaluation), false)
}

function includes(items: readonly CelValue[], value: CelValue, evaluation: Evaluation): boolean | CelFailure {
  evaluation.step(items.length)
  return search(items, (item) => equal(item, value, evaluation), true)
}

/** Returns `wanted` if the test of any item has this outcome, else the opposite. */
function search(
  items: readonly CelValue[],
  test: (item: CelValue) => boolean | CelFailure,
  wanted: boolean,
): boolean | CelFailure {
  for (const item of items) {
    const outcome = test(item)
    if (outcome instanceof CelFailure) return outcome
    if (outcome === wanted) return wanted
  }
  return !wanted
}
