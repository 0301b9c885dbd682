import { Buffer } from 'node:buffer'
import type { Evaluation } from '../evaluate/evaluation.ts'
import type { ListIdentity } from '../types.ts'
import { byIdentity, elementsOf, identityOf } from './list-identity.ts'
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
    if (typeof a === 'string' && typeof b === 'string') return equalTexts(a, b, evaluation)
    if (typeof a === typeof b) return a === b
    return isNumeric(a) && isNumeric(b) && compareNumbers(a, b) === 0
  }
  if (a instanceof CelUint) return isNumeric(b) && compareNumbers(a, b) === 0
  if (a instanceof CelList) return b instanceof CelList && equalLists(a, b, evaluation)
  if (a instanceof CelMap) return b instanceof CelMap && equalMaps(a, b, evaluation)
  if (a instanceof Uint8Array) return b instanceof Uint8Array && equalBytes(a, b, evaluation)
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

/**
 * Returns a negative number, zero or a positive number, by value.
 *
 * @returns undefined if one is NaN
 */
export function compareNumbers(a: Numeric, b: Numeric): number | undefined {
  const [x, y] = [plainNumber(a), plainNumber(b)]
  if (typeof x === typeof y) return order(x, y)
  // A whole number is rounded to a double first, as upstream.
  return order(Number(x), Number(y))
}

function plainNumber(value: Numeric): bigint | number {
  return value instanceof CelUint ? value.value : value
}

/** Returns the order of two values of one type. */
export function order(a: bigint | number, b: bigint | number): number | undefined {
  if (a < b) return -1
  if (a > b) return 1
  return a <= b ? 0 : undefined
}

/** Compares texts. Only texts of the same length are read. */
function equalTexts(a: string, b: string, evaluation: Evaluation): boolean {
  if (a.length !== b.length) return false
  evaluation.step(a.length / COMPARED_AT_ONCE)
  return a === b
}

function equalBytes(a: Uint8Array, b: Uint8Array, evaluation: Evaluation): boolean {
  if (a.length !== b.length) return false
  evaluation.step(a.length / COMPARED_AT_ONCE)
  return Buffer.compare(a, b) === 0
}

const COMPARED_AT_ONCE = 64

function equalLists(a: CelList, b: CelList, evaluation: Evaluation): boolean | CelFailure {
  if (a.size !== b.size) return false
  if (a.identity !== undefined) return equalByIdentity(a, b, a.identity, evaluation)
  for (let at = 0; at < a.size; at++) {
    evaluation.step(3)
    const same = equalParts(a.at(at), b.at(at), evaluation)
    if (same !== true) return same
  }
  return true
}

/** Compares lists of the same size whose elements are identified by their value or their keys. */
function equalByIdentity(
  a: CelList,
  b: CelList,
  identity: ListIdentity,
  evaluation: Evaluation,
): boolean | CelFailure {
  const others = byIdentity(b, identity, evaluation)
  if (others instanceof CelFailure) return others
  for (const element of elementsOf(a)) {
    if (element instanceof CelFailure) return element
    const other = others.get(identityOf(element, identity, evaluation))
    if (other === undefined) return false
    if (identity === 'set') continue
    const same = equal(element, other, evaluation)
    if (same !== true) return same
  }
  return true
}

function equalMaps(a: CelMap, b: CelMap, evaluation: Evaluation): boolean | CelFailure {
  if (a.size !== b.size) return false
  for (const key of a.keys()) {
    evaluation.step(5)
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
  return equal(a, b, evaluation)
}
