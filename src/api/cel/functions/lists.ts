import { traverseDeep } from '../cost/cost-rule.ts'
import type { Evaluation } from '../evaluate/evaluation.ts'
import type { CelType } from '../types.ts'
import {
  celBool,
  celBytes,
  celDouble,
  celDuration,
  celInt,
  celString,
  celTimestamp,
  celUint,
} from '../types.ts'
import { compareValues } from '../values/compare.ts'
import { itemsOf } from '../values/concat-lists.ts'
import { durationOf } from '../values/duration.ts'
import { equal } from '../values/equal.ts'
import type { CelList, CelValue } from '../values/value.ts'
import { CelDuration, CelFailure, CelUint } from '../values/value.ts'
import { int, uint } from './arithmetic.ts'
import type { FunctionEntry, Outcome, Overload } from './overload.ts'
import { call1, call2, method } from './overload.ts'
import { any, listOf, typeA } from './params.ts'

const ORDERED: readonly CelType[] = [
  celInt,
  celUint,
  celDouble,
  celBool,
  celDuration,
  celTimestamp,
  celString,
  celBytes,
]

/**
 * The list library of upstream.
 *
 * @source apiserver `pkg/cel/library/lists.go`
 */
export const lists: readonly FunctionEntry[] = [
  ['isSorted', ...ORDERED.map((type) => listMethod(type, celBool, isSorted))],
  [
    'sum',
    listMethod(celInt, celInt, (list, run) => sum(list, 0n, run)),
    listMethod(celUint, celUint, (list, run) => sum(list, new CelUint(0n), run)),
    listMethod(celDouble, celDouble, (list, run) => sum(list, 0, run)),
    listMethod(celDuration, celDuration, (list, run) => sum(list, new CelDuration(0n), run)),
  ],
  ['min', ...ORDERED.map((type) => listMethod(type, type, (list, run) => extreme(list, 'min', run)))],
  ['max', ...ORDERED.map((type) => listMethod(type, type, (list, run) => extreme(list, 'max', run)))],
  [
    'indexOf',
    method(
      call2(
        listOf(typeA),
        any(typeA),
        celInt,
        (list, value, run) => indexOf(list, value, 'first', run),
        traverseDeep,
      ),
    ),
  ],
  [
    'lastIndexOf',
    method(
      call2(
        listOf(typeA),
        any(typeA),
        celInt,
        (list, value, run) => indexOf(list, value, 'last', run),
        traverseDeep,
      ),
    ),
  ],
]

function listMethod(
  element: CelType,
  result: CelType,
  apply: (list: CelList, evaluation: Evaluation) => Outcome,
): Overload {
  return method(call1(listOf(element), result, apply, traverseDeep))
}

function isSorted(list: CelList, evaluation: Evaluation): Outcome {
  const items = itemsOf(list, evaluation)
  if (items instanceof CelFailure) return items
  for (const [at, item] of items.entries()) {
    const before = items[at - 1]
    if (before === undefined) continue
    const order = compareCounted(before, item, evaluation)
    if (order === undefined) return new CelFailure('no such overload')
    if (order > 0) return false
  }
  return true
}

/**
 * Compares two values and counts steps, because a list may contain the same long text many times.
 */
function compareCounted(a: CelValue, b: CelValue, evaluation: Evaluation): number | undefined {
  if (typeof a === 'string' || a instanceof Uint8Array) {
    const length = typeof b === 'string' || b instanceof Uint8Array ? b.length : 0
    evaluation.step(Math.min(a.length, length) / COMPARED_AT_ONCE)
  }
  return compareValues(a, b)
}

/** Characters that are compared in one step. */
const COMPARED_AT_ONCE = 16

/** @param zero the sum of an empty list */
function sum(list: CelList, zero: CelValue, evaluation: Evaluation): Outcome {
  const items = itemsOf(list, evaluation)
  if (items instanceof CelFailure) return items
  let total: Outcome = items[0] ?? zero
  for (const item of items.slice(1)) {
    total = plus(total, item)
    if (total instanceof CelFailure) return total
  }
  return total
}

function plus(a: CelValue, b: CelValue): Outcome {
  if (typeof a === 'bigint' && typeof b === 'bigint') return int(a + b)
  if (typeof a === 'number' && typeof b === 'number') return a + b
  if (a instanceof CelUint && b instanceof CelUint) return uint(a.value + b.value)
  if (a instanceof CelDuration && b instanceof CelDuration)
    return durationOf(a.nanos + b.nanos) ?? new CelFailure('duration overflow')
  return new CelFailure('no such overload')
}

function extreme(list: CelList, which: 'min' | 'max', evaluation: Evaluation): Outcome {
  const items = itemsOf(list, evaluation)
  if (items instanceof CelFailure) return items
  let best = items[0]
  if (best === undefined) return new CelFailure(`${which} called on empty list`)
  for (const item of items) {
    const order = compareCounted(item, best, evaluation)
    if (order === undefined) return new CelFailure('no such overload')
    if (which === 'min' ? order < 0 : order > 0) best = item
  }
  return best
}

function indexOf(list: CelList, value: CelValue, which: 'first' | 'last', evaluation: Evaluation): Outcome {
  const items = itemsOf(list, evaluation)
  if (items instanceof CelFailure) return items
  for (let step = 0; step < items.length; step++) {
    const at = which === 'first' ? step : items.length - 1 - step
    const same = equal(items[at] ?? null, value, evaluation)
    if (same instanceof CelFailure) return same
    if (same) return BigInt(at)
  }
  return -1n
}
