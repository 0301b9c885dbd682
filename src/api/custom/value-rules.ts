import { invalid, notSupported, tooMany } from '../errors/field-error.ts'
import type { Finding } from '../errors/field-error.ts'
import type { Findings } from '../errors/findings.ts'
import type { Json } from '../json.ts'
import type { Path } from '../schema/path.ts'
import { findingLimits } from '../limits.ts'
import { shortJson } from '../errors/short-text.ts'
import type { StepBudget } from '../step-budget.ts'
import { compiledRules } from './compiled-rules.ts'
import type { Bound, ValueRules } from './structural.ts'

/**
 * Checks of one value against the rules of its schema other than its type. Each adds a finding for
 * each rule, or null when the rule is satisfied. Rules for other types are ignored.
 *
 * @source kube-openapi `pkg/validation/validate`, for the rules and messages
 */

export function checkEnum(
  rules: ValueRules,
  value: Json,
  at: Path | null,
  findings: Findings,
  work: StepBudget,
): void {
  if (rules.enum.length === 0) return
  const { known } = compiledRules(rules)
  const isKnown = known.has(value, (steps) => work.spend(steps, at))
  findings.add(isKnown ? null : notSupported(at, value, known.words))
}

export function checkText(
  rules: ValueRules,
  value: string,
  at: Path | null,
  findings: Findings,
  work: StepBudget,
): void {
  const { lengthMin, lengthMax, pattern, format } = rules
  if (lengthMin !== null || lengthMax !== null) {
    work.spend(Math.ceil(value.length / CHARACTERS_A_STEP), at)
    findings.add(checkLength(rules, value, at))
  }
  if (pattern !== '') findings.add(checkPattern(rules, value, at, work))
  if (format === '') return
  const misformatted = checkFormat(rules, value, at, work)
  if (misformatted !== null) findings.add(misformatted)
}

/** Characters per step, for counting them. */
const CHARACTERS_A_STEP = 64

function checkFormat(rules: ValueRules, value: string, at: Path | null, work: StepBudget): Finding | null {
  const { format } = compiledRules(rules)
  if (format === null) return null
  work.spend(STEPS_FOR_FORMAT + Math.ceil(value.length / format.charactersAStep), at)
  return format.accepts(value) ? null : wrongType(at, rules.format, value)
}

const STEPS_FOR_FORMAT = 5

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
  return wrong(at, value, () => `should be at least ${lengthMin} chars long`)
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

function checkPattern(rules: ValueRules, value: string, at: Path | null, work: StepBudget): Finding | null {
  const { pattern } = compiledRules(rules)
  if (pattern === null) return null
  // The definition was validated; this is only reachable if limits were lowered since.
  if (typeof pattern === 'string') return wrong(at, value, () => `cannot be matched, as ${pattern}`)
  work.spend(pattern.steps(value), at)
  return pattern.matches(value) ? null : wrong(at, value, () => `should match '${rules.pattern}'`)
}

export function checkNumber(
  rules: ValueRules,
  value: number | bigint,
  at: Path | null,
  findings: Findings,
): void {
  const { minimum, maximum, multipleOf } = rules
  if (maximum !== null) findings.add(checkMaximum(maximum, value, at))
  if (minimum !== null) findings.add(checkMinimum(minimum, value, at))
  if (multipleOf === null) return
  const isRight = isMultiple(value, multipleOf)
  findings.add(isRight ? null : wrong(at, value, () => `should be a multiple of ${multipleOf}`))
}

function checkMaximum(
  { value: bound, exclusive }: Bound,
  value: number | bigint,
  at: Path | null,
): Finding | null {
  if (exclusive ? value < bound : value <= bound) return null
  return wrong(at, value, () => `should be less than ${exclusive ? '' : 'or equal to '}${bound}`)
}

function checkMinimum(
  { value: bound, exclusive }: Bound,
  value: number | bigint,
  at: Path | null,
): Finding | null {
  if (exclusive ? value > bound : value >= bound) return null
  return wrong(at, value, () => `should be greater than ${exclusive ? '' : 'or equal to '}${bound}`)
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

export function checkCount(rules: ValueRules, count: number, at: Path | null, findings: Findings): void {
  const { itemsMin, itemsMax } = rules
  if (itemsMin !== null) {
    const isRight = count >= itemsMin
    findings.add(isRight ? null : wrong(at, count, () => `should have at least ${itemsMin} items`))
  }
  if (itemsMax !== null) findings.add(count > itemsMax ? tooMany(at, count, itemsMax) : null)
}

export function checkMemberCount(rules: ValueRules, count: number, at: Path | null): Finding | null {
  const { propertiesMin, propertiesMax } = rules
  if (propertiesMin !== null && count < propertiesMin) {
    return wrong(at, count, () => `should have at least ${propertiesMin} properties`)
  }
  return propertiesMax !== null && count > propertiesMax ? tooMany(at, count, propertiesMax) : null
}

/** @param shown the value for the error, or its type if that is more useful */
export function wrongType(at: Path | null, wanted: string, shown: string): Finding {
  const words = (field: string): string =>
    `${field} in body must be of type ${wanted}: ${shortJson(shown, findingLimits.valueLengthMax)}`
  return { ...invalid(at, shown, words), reason: 'FieldValueTypeInvalid' }
}

/** @param words called when the error is shown: most are not */
export function wrong(at: Path | null, value: Json, words: () => string): Finding {
  return invalid(at, value, (field) => `${field} in body ${words()}`)
}
