import type { CelValue } from './value.ts'
import {
  CelDuration,
  CelList,
  CelMap,
  CelOpaque,
  CelOptional,
  CelTimestamp,
  CelTypeValue,
  CelUint,
} from './value.ts'

/** Returns the name of a value's type, as `type(value)` shows it. */
export function typeOf(value: CelValue): string {
  if (value === null) return 'null_type'
  if (typeof value === 'boolean') return 'bool'
  if (typeof value === 'bigint') return 'int'
  if (typeof value === 'number') return 'double'
  if (typeof value === 'string') return 'string'
  if (value instanceof CelUint) return 'uint'
  if (value instanceof Uint8Array) return 'bytes'
  if (value instanceof CelDuration) return 'google.protobuf.Duration'
  if (value instanceof CelTimestamp) return 'google.protobuf.Timestamp'
  if (value instanceof CelList) return 'list'
  if (value instanceof CelMap) return value.typeName ?? 'map'
  if (value instanceof CelTypeValue) return 'type'
  if (value instanceof CelOpaque) return value.typeName
  return value instanceof CelOptional ? 'optional_type' : 'unknown'
}
