import type { CostRule } from '../cost/cost-rule.ts'
import { comparison, nominal, searchList } from '../cost/cost-rule.ts'
import { celBool } from '../types.ts'
import { compareValues } from '../values/compare.ts'
import { equal } from '../values/equal.ts'
import type { CelValue } from '../values/value.ts'
import { CelFailure } from '../values/value.ts'
import type { FunctionEntry, Outcome, Overload, Param } from './overload.ts'
import { call2 } from './overload.ts'
import {
  aBool,
  aDouble,
  aDuration,
  aString,
  aTimestamp,
  aUint,
  anInt,
  any,
  bytes,
  listOf,
  mapOf,
  typeA,
  typeB,
} from './params.ts'

const anyA = any(typeA)

/** Comparisons and membership. */
export const comparisons: readonly FunctionEntry[] = [
  ['_==_', call2(anyA, anyA, celBool, (a, b, evaluation) => equal(a, b, evaluation), comparison)],
  [
    '_!=_',
    call2(
      anyA,
      anyA,
      celBool,
      (a, b, evaluation) => {
        const same = equal(a, b, evaluation)
        return same instanceof CelFailure ? same : !same
      },
      comparison,
    ),
  ],
  ordering('_<_', (order) => order < 0),
  ordering('_<=_', (order) => order <= 0),
  ordering('_>_', (order) => order > 0),
  ordering('_>=_', (order) => order >= 0),
  [
    '@in',
    call2(
      anyA,
      listOf(typeA),
      celBool,
      (value, list, evaluation) => {
        for (let at = 0; at < list.size; at++) {
          const element = list.at(at)
          const same = element instanceof CelFailure ? element : equal(value, element, evaluation)
          if (same !== false) return same
        }
        return false
      },
      searchList,
    ),
    call2(anyA, mapOf(typeA, typeB), celBool, (key, map) => map.has(key)),
  ],
]

/** Text is compared by code points; numbers of different types by value. */
function ordering(name: string, decide: (order: number) => boolean): FunctionEntry {
  const compare = (a: CelValue, b: CelValue): Outcome => {
    const order = compareValues(a, b)
    return order === undefined ? false : decide(order)
  }
  const pair = <A extends CelValue, B extends CelValue>(
    a: Param<A>,
    b: Param<B>,
    cost: CostRule = nominal,
  ): Overload => call2(a, b, celBool, compare, cost)
  return [
    name,
    pair(aBool, aBool),
    pair(anInt, anInt),
    pair(anInt, aDouble),
    pair(anInt, aUint),
    pair(aUint, aUint),
    pair(aUint, aDouble),
    pair(aUint, anInt),
    pair(aDouble, aDouble),
    pair(aDouble, anInt),
    pair(aDouble, aUint),
    pair(aString, aString, comparison),
    pair(bytes, bytes, comparison),
    pair(aTimestamp, aTimestamp),
    pair(aDuration, aDuration),
  ]
}
