import type { Findings } from '../errors/findings.ts'
import { badRequest } from '../errors/standard-errors.ts'
import { invalid, required, fieldForbidden } from '../errors/field-error.ts'
import type { JsonObject } from '../json.ts'
import { isJsonObject, textMember } from '../json.ts'
import { checkLabelValue, checkQualifiedName } from '../metadata/name-rules.ts'
import { parseRequirements } from './label-syntax.ts'
import type { LabelOperator, LabelRequirement } from './label-syntax.ts'

export type Labels = { readonly [key: string]: string }

/** All requirements must hold. */
export class LabelSelector {
  readonly requirements: readonly LabelRequirement[]
  readonly #tests: readonly ((labels: Labels | null) => boolean)[]

  constructor(requirements: readonly LabelRequirement[]) {
    this.requirements = requirements
    this.#tests = requirements.map(testOf)
  }

  /** No requirements: everything matches. */
  get isEmpty(): boolean {
    return this.requirements.length === 0
  }

  /** @param labels null: no labels */
  matches(labels: Labels | null): boolean {
    for (const test of this.#tests) {
      if (!test(labels)) return false
    }
    return true
  }
}

export const EVERY_LABEL = new LabelSelector([])

/** Limits on one selector, so that matching an object is always cheap. */
export const SELECTOR_LENGTH_MAX = 16 * 1024
export const SELECTOR_REQUIREMENTS_MAX = 256

/**
 * Parses the string form: `a=b,c!=d,e in (f,g),h,!i,j>3`.
 *
 * @throws ApiError BadRequest: malformed, or beyond the limits
 * @source apimachinery `pkg/labels/selector.go`
 */
export function parseLabelSelector(text: string): LabelSelector {
  if (text === '') return EVERY_LABEL
  if (text.length > SELECTOR_LENGTH_MAX) {
    throw badRequest(`the label selector is longer than ${SELECTOR_LENGTH_MAX} characters`)
  }
  const requirements = parseRequirements(text)
  if (requirements.length > SELECTOR_REQUIREMENTS_MAX) {
    throw badRequest(`the label selector has more than ${SELECTOR_REQUIREMENTS_MAX} requirements`)
  }
  for (const requirement of requirements) checkRequirement(requirement)
  return requirements.length === 0 ? EVERY_LABEL : new LabelSelector(requirements)
}

/**
 * Converts a `LabelSelector` object of a field. It must be valid by its schema and by
 * `validateLabelSelector`. Empty matches everything.
 */
export function selectorOfObject(selector: JsonObject): LabelSelector {
  const requirements: LabelRequirement[] = []
  const matchLabels = selector['matchLabels']
  if (isJsonObject(matchLabels)) {
    for (const key of Object.keys(matchLabels)) {
      requirements.push({ key, operator: '=', values: [textMember(matchLabels, key)] })
    }
  }
  const expressions = selector['matchExpressions']
  for (const expression of Array.isArray(expressions) ? expressions : []) {
    if (!isJsonObject(expression)) continue
    const operator = OBJECT_OPERATORS.get(textMember(expression, 'operator'))
    if (operator === undefined) continue
    const values = expression['values']
    const texts = Array.isArray(values) ? values.map((value) => (typeof value === 'string' ? value : '')) : []
    requirements.push({ key: textMember(expression, 'key'), operator, values: texts })
  }
  return new LabelSelector(requirements)
}

/** Checks the content of a `LabelSelector` object. @param field its path */
export function validateLabelSelector(selector: JsonObject, field: string, found: Findings): void {
  const matchLabels = selector['matchLabels']
  const labels = isJsonObject(matchLabels) ? matchLabels : {}
  for (const [key, value] of Object.entries(labels)) {
    const path = `${field}.matchLabels`
    for (const words of checkQualifiedName(key)) found.add(invalid(path, key, words))
    for (const words of checkLabelValue(textMember(labels, key))) found.add(invalid(path, value, words))
  }
  const expressions = selector['matchExpressions']
  for (const [at, expression] of (Array.isArray(expressions) ? expressions : []).entries()) {
    if (isJsonObject(expression)) checkExpression(expression, `${field}.matchExpressions[${at}]`, found)
  }
}

function checkExpression(expression: JsonObject, path: string, found: Findings): void {
  const key = textMember(expression, 'key')
  const operator = textMember(expression, 'operator')
  const values = expression['values']
  const count = Array.isArray(values) ? values.length : 0
  if (operator === 'In' || operator === 'NotIn') {
    if (count === 0) {
      found.add(required(`${path}.values`, "must be specified when `operator` is 'In' or 'NotIn'"))
    }
  } else {
    if (operator === 'Exists' || operator === 'DoesNotExist') {
      const words = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
      if (count > 0) found.add(fieldForbidden(`${path}.values`, words))
    } else {
      found.add(invalid(`${path}.operator`, operator, 'not a valid selector operator'))
    }
  }
  for (const words of checkQualifiedName(key)) found.add(invalid(`${path}.key`, key, words))
}

const OBJECT_OPERATORS: ReadonlyMap<string, LabelOperator> = new Map([
  ['In', 'in'],
  ['NotIn', 'notin'],
  ['Exists', 'exists'],
  ['DoesNotExist', '!'],
])

/** @throws ApiError BadRequest with upstream's message */
function checkRequirement(requirement: LabelRequirement): void {
  for (const words of checkQualifiedName(requirement.key)) {
    throw badRequest(`unable to parse requirement: key: Invalid value: ${quoted(requirement.key)}: ${words}`)
  }
  if (requirement.operator === 'gt' || requirement.operator === 'lt') {
    const value = requirement.values[0] ?? ''
    if (integerOf(value) === null) {
      const words = "for 'Gt', 'Lt' operators, the value must be an integer"
      throw badRequest(`unable to parse requirement: values[0]: Invalid value: ${quoted(value)}: ${words}`)
    }
  }
  requirement.values.forEach((value, at) => {
    for (const words of checkLabelValue(value)) {
      throw badRequest(
        `unable to parse requirement: values[${at}][${requirement.key}]: ` +
          `Invalid value: ${quoted(value)}: ${words}`,
      )
    }
  })
}

function quoted(text: string): string {
  return JSON.stringify(text)
}

function testOf(requirement: LabelRequirement): (labels: Labels | null) => boolean {
  const { key, operator, values } = requirement
  const read = (labels: Labels | null): string | undefined =>
    labels !== null && Object.hasOwn(labels, key) ? labels[key] : undefined
  const first = values[0] ?? ''
  const set = new Set(values)
  switch (operator) {
    case '=':
    case '==':
      return (labels) => read(labels) === first
    case '!=':
      return (labels) => read(labels) !== first
    case 'in':
      return (labels) => {
        const value = read(labels)
        return value !== undefined && set.has(value)
      }
    case 'notin':
      return (labels) => {
        const value = read(labels)
        return value === undefined || !set.has(value)
      }
    case 'exists':
      return (labels) => read(labels) !== undefined
    case '!':
      return (labels) => read(labels) === undefined
    case 'gt':
    case 'lt': {
      const bound = integerOf(first) ?? 0n
      return (labels) => {
        const value = integerOf(read(labels) ?? '')
        if (value === null) return false
        return operator === 'gt' ? value > bound : value < bound
      }
    }
  }
}

/** Parses a signed 64-bit integer. @returns null if the text is not one */
function integerOf(text: string): bigint | null {
  if (!/^[+-]?[0-9]{1,30}$/.test(text)) return null
  const value = BigInt(text.startsWith('+') ? text.slice(1) : text)
  return BigInt.asIntN(64, value) === value ? value : null
}
