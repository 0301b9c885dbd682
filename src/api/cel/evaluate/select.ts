import type { Outcome } from '../functions/overload.ts'
import { CelFailure, CelMap, CelOptional } from '../values/value.ts'

/** `value.field`, where the field of an optional value is optional. */
export function selectField(value: Outcome, field: string): Outcome {
  if (value instanceof CelMap) {
    const found = value.get(field)
    return found === undefined ? new CelFailure(`no such key: ${field}`) : found
  }
  if (value instanceof CelOptional) return selectOptional(value, field)
  return value instanceof CelFailure ? value : new CelFailure('no such overload')
}

/** `value.?field` */
export function selectOptional(value: Outcome, field: string): Outcome {
  if (value instanceof CelFailure) return value
  if (value instanceof CelOptional)
    return value.value === undefined ? value : selectOptional(value.value, field)
  if (!(value instanceof CelMap)) return new CelFailure('no such overload')
  const found = value.get(field)
  if (found instanceof CelFailure) return found
  return found === undefined ? CelOptional.none : new CelOptional(found)
}

/** `has(value.field)` */
export function hasField(value: Outcome, field: string): Outcome {
  if (value instanceof CelMap) return value.has(field)
  if (value instanceof CelOptional) return value.value !== undefined && hasField(value.value, field)
  return value instanceof CelFailure ? value : new CelFailure('no such overload')
}
