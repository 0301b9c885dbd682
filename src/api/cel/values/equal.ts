import type { Evaluation } from '../evaluate/evaluation.ts'
import { equalByIdentity } from './list-identity.ts'
import type { CelValue } from './value.ts'
import {
  CelDuration,
  CelFailure,
  CelList,
  CelMap,
  CelOpaque,
  CelOptional,
  CelTimestamp,
  CelTypeValue,
  CelUint,
} from './value.ts'

/**
 * Returns whether two values are equal. Numbers are compared by value whatever their type; values
 * of different types are not equal. Lists of a set or map are compared by their elements' identity.
 */
export function equal(a: CelValue, b: CelValue, evaluation: Evaluation): boolean | CelFailure {
  if (typeof a !== 'object' || a === null) {
    if (typeof a === typeof b) return a === b
    return isNumeric(a) && isNumeric(b) && equalNumbers(a, b)
  }
  if (a instanceof CelUint) return isNumeric(b) && equalNumbers(a, b)
  if (a instanceof CelList) return b instanceof CelList && equalLists(a, b, evaluation)
  if (a instanceof CelMap) return b instanceof CelMap && equalMaps(a, b, evaluation)
  if (a instanceof Uint8Array) return b instanceof Uint8Array && equalBytes(a, b)
  if (a instanceof CelDuration) return b instanceof CelDuration && a.nanos === b.nanos
  if (a instanceof CelTimestamp) return b instanceof CelTimestamp && a.nanos === b.nanos
  if (a instanceof CelTypeValue) return b instanceof CelTypeValue && a.name === b.name
  if (a instanceof CelOpaque) return b instanceof CelOpaque && a.equals(b)
  return b instanceof CelOptional && equalOptionals(a, b, evaluation)
}

export type Numeric = bigint | number | CelUint

export function isNumeric(value: CelValue): value is Numeric {
  return typeof value === 'bigint' || typeof value === 'number' || value instanceof CelUint
}

/** Returns the number for comparisons, which are exact between a bigint and a number. */
export function plainNumber(value: Numeric): bigint | number {
  return value instanceof CelUint ? value.value : value
}

function equalNumbers(a: Numeric, b: Numeric): boolean {
  const [x, y] = [plainNumber(a), plainNumber(b)]
  return x <= y && x >= y
}

function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at])
}

function equalLists(a: CelList, b: CelList, evaluation: Evaluation): boolean | CelFailure {
  if (a.size !== b.size) return false
  if (a.identity !== undefined) return equalByIdentity(a, b, a.identity, evaluation)
  for (let at = 0; at < a.size; at++) {
    evaluation.step(2)
    const same = equalParts(a.at(at), b.at(at), evaluation)
    if (same !== true) return same
  }
  return true
}

function equalMaps(a: CelMap, b: CelMap, evaluation: Evaluation): boolean | CelFailure {
  if (a.size !== b.size) return false
  for (const key of a.keys()) {
    evaluation.step(4)
    const same = equalParts(a.get(key), b.get(key), evaluation)
    if (same !== true) return same
  }
  return true
}

function equalOptionals(a: CelOptional, b: CelOptional, evaluation: Evaluation): boolean | CelFailure {
  if (a.value === undefined || b.value === undefined) return a.value === b.value
  return equal(a.value, b.value, evaluation)
}

/** A part that is missing equals nothing. */
export function equalParts(
  a: CelValue | CelFailure | undefined,
  b: CelValue | CelFailure | undefined,
  evaluation: Evaluation,
): boolean | CelFailure {
  if (a === undefined || b === undefined) return false
  if (a instanceof CelFailure) return a
  if (b instanceof CelFailure) return b
  if (typeof a === 'string' && typeof b === 'string') evaluation.step(Math.min(a.length, b.length) / 16)
  return equal(a, b, evaluation)
}
