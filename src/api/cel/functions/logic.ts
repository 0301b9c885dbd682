import { celBool } from '../types.ts'
import type { FunctionEntry } from './overload.ts'
import { call1, call3 } from './overload.ts'
import { aBool, any, dyn, typeA } from './params.ts'

const anyA = any(typeA)

/**
 * The types of logical operators. Plans evaluate those themselves that do not need all of their
 * operands; the checker knows `&&` and `||`.
 */
export const logic: readonly FunctionEntry[] = [
  ['!_', call1(aBool, celBool, (a) => !a)],
  ['_?_:_', call3(aBool, anyA, anyA, typeA, ([condition, a, b]) => (condition ? a : b))],
  ['@not_strictly_false', call1(dyn, celBool, (a) => a !== false)],
]
