import { celBool } from '../types.ts'
import type { FunctionEntry } from './overload.ts'
import { call1, call3 } from './overload.ts'
import { aBool, any, dyn, typeA } from './params.ts'

const anyA = any(typeA)

/**
 * Logical operators. Plans evaluate `?:`, `&&` and `||` themselves, because not all of their
 * operands are needed, and the checker knows the types of `&&` and `||`.
 */
export const logic: readonly FunctionEntry[] = [
  ['!_', call1(aBool, celBool, (a) => !a)],
  ['_?_:_', call3(aBool, anyA, anyA, typeA, ([condition, a, b]) => (condition ? a : b))],
  ['@not_strictly_false', call1(dyn, celBool, (a) => a !== false)],
]
