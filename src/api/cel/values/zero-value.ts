import type { CelValue } from './value.ts'
import { CelDuration, CelList, CelMap, CelOptional, CelUint } from './value.ts'

/** Returns whether a value is null, zero or empty. */
export function isZeroValue(value: CelValue): boolean {
  if (value === null || value === false || value === '' || value === 0n || value === 0) return true
  if (value instanceof Uint8Array) return value.length === 0
  if (value instanceof CelList || value instanceof CelMap) return value.size === 0
  if (value instanceof CelUint) return value.value === 0n
  if (value instanceof CelDuration) return value.nanos === 0n
  return value instanceof CelOptional && value.value === undefined
}
