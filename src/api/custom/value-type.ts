import type { Json } from '../json.ts'
import { isJsonList } from '../json.ts'
import type { Structural } from './structural.ts'

/** The type of a JSON value in terms of schemas. Integers beyond 64 bits are numbers. */
export type ValueType = 'null' | 'boolean' | 'string' | 'integer' | 'number' | 'array' | 'object'

export function typeOfValue(value: Json): ValueType {
  if (value === null) return 'null'
  if (typeof value === 'bigint') return BigInt.asIntN(64, value) === value ? 'integer' : 'number'
  if (typeof value === 'number') return Number.isSafeInteger(value) ? 'integer' : 'number'
  if (typeof value === 'string') return 'string'
  if (typeof value === 'boolean') return 'boolean'
  return isJsonList(value) ? 'array' : 'object'
}

/** @returns empty: all types are allowed */
export function allowedTypes({
  type,
  intOrString,
}: Pick<Structural, 'type' | 'intOrString'>): readonly ValueType[] {
  if (intOrString) return INT_OR_STRING
  return type === '' ? [] : [type]
}

const INT_OR_STRING = ['integer', 'string'] as const

/** Returns whether a value has a type that a node allows. `nullable` is checked elsewhere. */
export function isOfType(types: readonly ValueType[], of: ValueType): boolean {
  return types.length === 0 || types.includes(of) || (of === 'integer' && types.includes('number'))
}
