import { badRequest } from '../errors/standard-errors.ts'
import { SELECTOR_LENGTH_MAX, SELECTOR_REQUIREMENTS_MAX } from './label-selector.ts'

export type FieldRequirement = {
  /** Path such as `metadata.name`. */
  readonly field: string
  readonly operator: '=' | '!='
  readonly value: string
}

/** All requirements must hold. */
export class FieldSelector {
  readonly requirements: readonly FieldRequirement[]

  constructor(requirements: readonly FieldRequirement[]) {
    this.requirements = requirements
  }

  get isEmpty(): boolean {
    return this.requirements.length === 0
  }

  /** @param read returns the value of a field; empty if the object lacks it */
  matches(read: (field: string) => string): boolean {
    for (const { field, operator, value } of this.requirements) {
      if ((read(field) === value) !== (operator === '=')) return false
    }
    return true
  }

  /**
   * Returns the only value that `field` may have, which turns a scan into one read.
   *
   * @returns null: not restricted to one value
   */
  exact(field: string): string | null {
    const found = this.requirements.find((one) => one.field === field && one.operator === '=')
    return found === undefined ? null : found.value
  }
}

export const EVERY_FIELD = new FieldSelector([])

/** Fields by which every kind can be selected. */
export const COMMON_FIELDS: readonly string[] = ['metadata.name', 'metadata.namespace']

/**
 * Parses `metadata.name=a,metadata.namespace!=b`. A comma, equals sign or backslash of a value is
 * escaped with a backslash.
 *
 * @param known fields that the kind supports
 * @throws ApiError BadRequest: malformed, an unsupported field, or beyond the limits
 * @source apimachinery `pkg/fields/selector.go`
 */
export function parseFieldSelector(text: string, known: readonly string[] = COMMON_FIELDS): FieldSelector {
  if (text === '') return EVERY_FIELD
  if (text.length > SELECTOR_LENGTH_MAX) {
    throw badRequest(`the field selector is longer than ${SELECTOR_LENGTH_MAX} characters`)
  }
  const requirements: FieldRequirement[] = []
  for (const term of splitTerms(text)) {
    if (term === '') continue
    const requirement = requirementOf(term)
    if (requirement === null) {
      throw badRequest(`invalid selector: '${text}'; can't understand '${term}'`)
    }
    if (!known.includes(requirement.field)) {
      const list = known.map((field) => JSON.stringify(field)).join(', ')
      throw badRequest(`${JSON.stringify(requirement.field)} is not a known field selector: only ${list}`)
    }
    requirements.push(requirement)
    if (requirements.length > SELECTOR_REQUIREMENTS_MAX) {
      throw badRequest(`the field selector has more than ${SELECTOR_REQUIREMENTS_MAX} requirements`)
    }
  }
  return new FieldSelector(requirements)
}

/** Splits at commas that are not escaped. */
function splitTerms(text: string): string[] {
  const terms: string[] = []
  let start = 0
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at)
    if (char === '\\') at++
    else if (char === ',') {
      terms.push(text.slice(start, at))
      start = at + 1
    }
  }
  terms.push(text.slice(start))
  return terms
}

function requirementOf(term: string): FieldRequirement | null {
  for (let at = 0; at < term.length; at++) {
    for (const sign of ['!=', '==', '='] as const) {
      if (!term.startsWith(sign, at)) continue
      const value = unescape(term.slice(at + sign.length))
      if (value === null) return null
      return { field: term.slice(0, at), operator: sign === '!=' ? '!=' : '=', value }
    }
  }
  return null
}

/** @returns null if a special character is not escaped, or a backslash precedes an ordinary one */
function unescape(text: string): string | null {
  let value = ''
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at)
    if (char === '\\') {
      const next = text.charAt(at + 1)
      if (next !== '\\' && next !== ',' && next !== '=') return null
      value += next
      at++
    } else if (char === ',' || char === '=') {
      return null
    } else {
      value += char
    }
  }
  return value
}
