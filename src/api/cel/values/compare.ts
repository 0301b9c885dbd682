import { compareText } from './code-points.ts'
import { compareNumbers, isNumeric, order } from './equal.ts'
import type { CelValue } from './value.ts'
import { CelDuration, CelTimestamp } from './value.ts'

/**
 * Returns a negative number, zero or a positive number for `a` below, equal to or above `b`.
 *
 * @returns undefined if the values have no order, such as NaN
 */
export function compareValues(a: CelValue, b: CelValue): number | undefined {
  if (isNumeric(a) && isNumeric(b)) return compareNumbers(a, b)
  if (typeof a === 'string' && typeof b === 'string') return compareText(a, b)
  if (typeof a === 'boolean' && typeof b === 'boolean') return Number(a) - Number(b)
  if (a instanceof Uint8Array && b instanceof Uint8Array) return compareBytes(a, b)
  if (a instanceof CelTimestamp && b instanceof CelTimestamp) return order(a.nanos, b.nanos)
  if (a instanceof CelDuration && b instanceof CelDuration) return order(a.nanos, b.nanos)
  return undefined
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const length = Math.min(a.length, b.length)
  for (let at = 0; at < length; at++) {
    const difference = (a[at] ?? 0) - (b[at] ?? 0)
    if (difference !== 0) return difference
  }
  return a.length - b.length
}
