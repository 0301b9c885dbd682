import type { CelType } from '../types.ts'
import {
  celBool,
  celBytes,
  celDouble,
  celDuration,
  celDyn,
  celInt,
  celList,
  celMap,
  celNull,
  celOptional,
  celString,
  celTimestamp,
  celTypeType,
  celUint,
} from '../types.ts'
import type { CelValue } from '../values/value.ts'
import {
  CelDuration,
  CelList,
  CelMap,
  CelOptional,
  CelTimestamp,
  CelTypeValue,
  CelUint,
} from '../values/value.ts'
import type { Param } from './overload.ts'

export const aBool: Param<boolean> = { type: celBool, is: (value) => typeof value === 'boolean' }
export const anInt: Param<bigint> = { type: celInt, is: (value) => typeof value === 'bigint' }
export const aUint: Param<CelUint> = { type: celUint, is: (value) => value instanceof CelUint }
export const aDouble: Param<number> = { type: celDouble, is: (value) => typeof value === 'number' }
export const aString: Param<string> = { type: celString, is: (value) => typeof value === 'string' }
export const bytes: Param<Uint8Array> = { type: celBytes, is: (value) => value instanceof Uint8Array }
export const aNull: Param<null> = { type: celNull, is: (value) => value === null }
export const aDuration: Param<CelDuration> = {
  type: celDuration,
  is: (value) => value instanceof CelDuration,
}
export const aTimestamp: Param<CelTimestamp> = {
  type: celTimestamp,
  is: (value) => value instanceof CelTimestamp,
}
export const aType: Param<CelTypeValue> = {
  type: celTypeType,
  is: (value) => value instanceof CelTypeValue,
}

export const typeA: CelType = { kind: 'param', name: 'A' }
export const typeB: CelType = { kind: 'param', name: 'B' }

/** Returns a parameter that takes any value. The type is usually a variable. */
export function any(type: CelType): Param<CelValue> {
  return { type, is: (value): value is CelValue => value !== undefined }
}
export const dyn = any(celDyn)

export function listOf(element: CelType): Param<CelList> {
  return { type: celList(element), is: (value) => value instanceof CelList }
}

export function mapOf(key: CelType, value: CelType): Param<CelMap> {
  return { type: celMap(key, value), is: (map) => map instanceof CelMap }
}

export function optionalOf(of: CelType): Param<CelOptional> {
  return { type: celOptional(of), is: (value) => value instanceof CelOptional }
}
