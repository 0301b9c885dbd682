import { invalid, notSupported, tooMany } from '../errors/field-error.ts'
import type { Finding } from '../errors/field-error.ts'
import type { Json } from '../json.ts'
import { equalJson } from '../json.ts'
import type { Path } from '../schema/path.ts'
import { findingLimits } from '../limits.ts'
import { shortJson } from '../errors/short-text.ts'
import type { StepBudget } from '../step-budget.ts'
import { isOfFormat } from './formats.ts'
import { compilePattern } from './pattern.ts'
import type { Pattern } from './pattern.ts'
import type { Bound, ValueRules } from './structural.ts'

/**
 * Checks of one value against the rules of its schema other than its type. Each yields a finding,
 * or null when the rule is satisfied. Rules for other types are ignored.
 *
 * @source kube-openapi `pkg/validation/validate`, for the rules and messages
 */

export function checkEnum(
  { enum: values }: ValueRules,
  value: Json,
  at: Path | null,
  work: StepBudget,
): Finding | null {
  if (values.length === 0) return null
  work.spend(values.length, at)
  if (values.some((known) => equalJson(known, value))) return null
  const words = values
    .slice(0, ENUM_SHOWN_MAX)
    .map((known) => (typeof known === 'string' ? known : shortJson(known, ENUM_VALUE_LENGTH_MAX)))
  return notSupported(at, value, words)
}

/** Limits on how an error shows an enum: values, and characters of a value that is not a string. */
const ENUM_SHOWN_MAX = 100
const ENUM_VALUE_LENGTH_MAX = 256

export function* checkText(
  rules: ValueRules,
  value: string,
  at: Path | null,
  work: StepBudget,
): Iterable<Finding | null> {
  const { lengthMin, lengthMax, pattern, format } = rules
  const isLimited = lengthMin !== null || lengthMax !== null
  if (isLimited || format !== '') work.spend(Math.ceil(value.length / CHARACTERS_A_STEP), at)
  if (isLimited) yield checkLength(rules, value, at)
  if (pattern !== '') yield checkPattern(rules, value, at, work)
  if (format !== '' && !isOfFormat(format, value)) yield wrongType(at, format, value)
}

/** Characters per step, for counting them or checking a format. */
const CHARACTERS_A_STEP = 64

function checkLength({ lengthMin, lengthMax }: ValueRules, value: string, at: Path | null): Finding | null {
  const length = codePoints(value)
  if (lengthMax !== null && length > lengthMax) {
    return {
      reason: 'FieldValueTooLong',
      field: at,
      words: 'Too long',
      detail: `may not be longer than ${lengthMax}`,
    }
  }
  if (lengthMin === null || length >= lengthMin) return null
  return wrong(at, value, `should be at least ${lengthMin} chars long`)
}

function codePoints(text: string): number {
  let count = text.length
  for (let at = 0; at < text.length - 1; at++) {
    const isPair = (text.charCodeAt(at) & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00
    if (!isPair) continue
    count--
    at++
  }
  return count
}

/** Patterns are compiled at first use, and released with their schema. */
const compiled = new WeakMap<ValueRules, Pattern | string>()

function checkPattern(rules: ValueRules, value: string, at: Path | null, work: StepBudget): Finding | null {
  let pattern = compiled.get(rules)
  if (pattern === undefined) {
    pattern = compilePattern(rules.pattern)
    compiled.set(rules, pattern)
  }
  // The definition was validated; this is only reachable if limits were lowered since.
  if (typeof pattern === 'string') return wrong(at, value, `cannot be matched, as ${pattern}`)
  work.spend(Math.ceil((value.length * (pattern.size + OVERHEAD)) / 64), at)
  return pattern.matches(value) ? null : wrong(at, value, `should match '${rules.pattern}'`)
}

/** The constant cost of matching one character, in instructions. */
const OVERHEAD = 100

export function* checkNumber(
  rules: ValueRules,
  value: number | bigint,
  at: Path | null,
): Iterable<Finding | null> {
  const { minimum, maximum, multipleOf } = rules
  if (maximum !== null) yield checkMaximum(maximum, value, at)
  if (minimum !== null) yield checkMinimum(minimum, value, at)
  if (multipleOf !== null && !isMultiple(value, multipleOf)) {
    yield wrong(at, value, `should be a multiple of ${multipleOf}`)
  }
}

function checkMaximum(
  { value: bound, exclusive }: Bound,
  value: number | bigint,
  at: Path | null,
): Finding | null {
  if (exclusive ? value < bound : value <= bound) return null
  return wrong(at, value, `should be less than ${exclusive ? '' : 'or equal to '}${bound}`)
}

function checkMinimum(
  { value: bound, exclusive }: Bound,
  value: number | bigint,
  at: Path | null,
): Finding | null {
  if (exclusive ? value > bound : value >= bound) return null
  return wrong(at, value, `should be greater than ${exclusive ? '' : 'or equal to '}${bound}`)
}

/** @param factor 0 and negative factors have no multiples */
function isMultiple(value: number | bigint, factor: number | bigint): boolean {
  if (factor <= 0) return false
  if (isWhole(value) && isWhole(factor)) return BigInt(value) % BigInt(factor) === 0n
  const [amount, by] = [Number(value), Number(factor)]
  const times = by < 1 ? (1 / by) * amount : amount / by
  return (
    Number.isFinite(times) && Math.abs(times - Math.round(times)) <= NEARLY * Math.max(1, Math.abs(times))
  )
}

/**
 * The tolerance for rounding: 0.3 counts as three times 0.1.
 *
 * @source go-openapi `swag` IsFloat64AJSONInteger
 */
const NEARLY = 1e-9

function isWhole(value: number | bigint): boolean {
  return typeof value === 'bigint' || Number.isInteger(value)
}

export function* checkCount(rules: ValueRules, count: number, at: Path | null): Iterable<Finding | null> {
  const { itemsMin, itemsMax } = rules
  if (itemsMin !== null)
    yield count < itemsMin ? wrong(at, count, `should have at least ${itemsMin} items`) : null
  if (itemsMax !== null) yield count > itemsMax ? tooMany(at, count, itemsMax) : null
}

export function checkMemberCount(rules: ValueRules, count: number, at: Path | null): Finding | null {
  const { propertiesMin, propertiesMax } = rules
  if (propertiesMin !== null && count < propertiesMin) {
    return wrong(at, count, `should have at least ${propertiesMin} properties`)
  }
  return propertiesMax !== null && count > propertiesMax ? tooMany(at, count, propertiesMax) : null
}

/** @param shown the value for the error, or its type if that is more useful */
export function wrongType(at: Path | null, wanted: string, shown: string): Finding {
  const words = (field: string): string =>
    `${field} in body must be of type ${wanted}: ${shortJson(shown, findingLimits.valueLengthMax)}`
  return { ...invalid(at, shown, words), reason: 'FieldValueTypeInvalid' }
}

export function wrong(at: Path | null, value: Json, words: string): Finding {
  return invalid(at, value, (field) => `${field} in body ${words}`)
}
