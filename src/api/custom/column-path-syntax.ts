import { customLimits } from './limits.ts'

/** One step of a path: it selects values from a value. */
export type Step =
  | { readonly kind: 'member'; readonly name: string }
  /** Every element of a list, or value of an object. */
  | { readonly kind: 'all' }
  /** A slice of a list, as in Python. `by` is above 0. */
  | { readonly kind: 'slice'; readonly from: number; readonly to: number | null; readonly by: number }
  | { readonly kind: 'filter'; readonly condition: Comparison }
  | { readonly kind: 'union'; readonly steps: readonly Step[] }
  /** The value and all its descendants. */
  | { readonly kind: 'below' }

/** A condition. If `right` is null, it tests that the left side exists. */
export type Comparison = {
  readonly left: Operand
  readonly right: { readonly operator: Operator; readonly operand: Operand } | null
}

export type Operand =
  | { readonly kind: 'path'; readonly steps: readonly Step[] }
  | { readonly kind: 'literal'; readonly value: string | number | boolean }

const OPERATORS = ['==', '!=', '<=', '>=', '<', '>'] as const
type Operator = (typeof OPERATORS)[number]

/** @returns the steps, or the error text */
export function readColumnPath(path: string): readonly Step[] | string {
  if (path === '') return 'must not be empty'
  if (path.length > customLimits.columnPathCharactersMax) {
    return `must be no more than ${customLimits.columnPathCharactersMax} characters`
  }
  if (!path.startsWith('.')) return 'must be a simple json path starting with .'
  try {
    return new Reader(path).path()
  } catch (error) {
    if (error instanceof Unreadable) return `is not a JSON path: ${error.message}`
    throw error
  }
}

class Unreadable extends Error {}

/** Parses a path, or a path inside a condition. */
class Reader {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  path(): readonly Step[] {
    const steps: Step[] = []
    while (this.#at < this.#text.length) {
      if (steps.length >= customLimits.columnPathStepsMax) {
        throw new Unreadable(`it has more than ${customLimits.columnPathStepsMax} steps`)
      }
      if (this.#take('..')) {
        steps.push({ kind: 'below' })
        if (this.#text.charAt(this.#at) !== '[') steps.push(this.#member())
      } else if (this.#take('.')) {
        // The value itself is not a step.
        const isMember = this.#at < this.#text.length && this.#text.charAt(this.#at) !== '['
        if (isMember) steps.push(this.#member())
      } else if (this.#take('[')) steps.push(bracketed(this.#bracket()))
      else throw new Unreadable(`unexpected "${this.#text.slice(this.#at, this.#at + 16)}"`)
    }
    return steps
  }

  #take(text: string): boolean {
    if (!this.#text.startsWith(text, this.#at)) return false
    this.#at += text.length
    return true
  }

  #member(): Step {
    MEMBER.lastIndex = this.#at
    const text = MEMBER.exec(this.#text)?.[0] ?? ''
    if (text === '') throw new Unreadable('a name is missing after a dot')
    this.#at += text.length
    return text === '*' ? { kind: 'all' } : { kind: 'member', name: text.replace(/\\(.)/gs, '$1') }
  }

  /** @returns the text up to the closing bracket; quoted parts may contain brackets */
  #bracket(): string {
    const begin = this.#at
    let depth = 1
    let quote = ''
    for (; this.#at < this.#text.length; this.#at++) {
      const char = this.#text.charAt(this.#at)
      if (quote !== '') {
        if (char === '\\') this.#at++
        else if (char === quote) quote = ''
      } else if (char === '"' || char === "'") quote = char
      else if (char === '[') depth++
      else if (char === ']' && --depth === 0) return this.#text.slice(begin, this.#at++)
    }
    throw new Unreadable('a bracket is not closed')
  }
}

/** Matches up to an unescaped character that ends a name. */
const MEMBER = /(?:\\.|[^\s.,[\]$@{}\\])*/sy

function bracketed(text: string): Step {
  const condition = /^\?\((.*)\)$/s.exec(text)?.[1]
  if (condition !== undefined) return { kind: 'filter', condition: readCondition(condition.trim()) }
  const parts = splitOutsideQuotes(text, ',')
  const [only, ...more] = parts.map(subscript)
  if (only === undefined) throw new Unreadable('the brackets are empty')
  return more.length === 0 ? only : { kind: 'union', steps: [only, ...more] }
}

function subscript(text: string): Step {
  const trimmed = text.trim()
  if (trimmed === '*') return { kind: 'all' }
  const quoted = QUOTED.exec(trimmed)
  if (quoted !== null) return { kind: 'member', name: unquoted(quoted) }
  const slice = /^(-?[0-9]{1,9})?(?:(:)(-?[0-9]{1,9})?)?(?::([0-9]{1,9})?)?$/.exec(trimmed)
  if (trimmed === '' || slice === null)
    throw new Unreadable(`"${trimmed.slice(0, 32)}" is not a position in a list`)
  const from = Number(slice[1] ?? 0)
  const by = Number(slice[4] ?? 1)
  if (by === 0) throw new Unreadable('a step of 0 is invalid')
  if (slice[2] === undefined) return { kind: 'slice', from, to: from === -1 ? null : from + 1, by: 1 }
  return { kind: 'slice', from, to: slice[3] === undefined ? null : Number(slice[3]), by }
}

function readCondition(text: string): Comparison {
  for (const operator of OPERATORS) {
    const [left, right, ...more] = splitOutsideQuotes(text, operator)
    if (right === undefined) continue
    if (left === undefined || more.length > 0) throw new Unreadable(`"${operator}" occurs more than once`)
    return { left: operandOf(left.trim()), right: { operator, operand: operandOf(right.trim()) } }
  }
  return { left: operandOf(text), right: null }
}

function operandOf(text: string): Operand {
  if (text.startsWith('@')) return { kind: 'path', steps: new Reader(text.slice(1)).path() }
  const quoted = QUOTED.exec(text)
  if (quoted !== null) return { kind: 'literal', value: unquoted(quoted) }
  if (text === 'true' || text === 'false') return { kind: 'literal', value: text === 'true' }
  if (/^[+-]?[0-9]+(?:\.[0-9]+)?$/.test(text)) return { kind: 'literal', value: Number(text) }
  throw new Unreadable(`"${text.slice(0, 32)}" cannot be compared`)
}

const QUOTED = /^(?:'((?:\\.|[^'\\])*)'|"((?:\\.|[^"\\])*)")$/s

function unquoted(match: RegExpExecArray): string {
  return (match[1] ?? match[2] ?? '').replace(/\\(.)/gs, '$1')
}

function splitOutsideQuotes(text: string, separator: string): readonly string[] {
  const parts: string[] = []
  let begin = 0
  let quote = ''
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at)
    if (quote !== '') {
      if (char === '\\') at++
      else if (char === quote) quote = ''
    } else if (char === '"' || char === "'") quote = char
    else if (text.startsWith(separator, at)) {
      parts.push(text.slice(begin, at))
      begin = at + separator.length
      at = begin - 1
    }
  }
  parts.push(text.slice(begin))
  return parts
}
