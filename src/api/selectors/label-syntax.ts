import { badRequest } from '../errors/standard-errors.ts'

export type LabelOperator = '=' | '==' | 'in' | '!=' | 'notin' | 'exists' | '!' | 'gt' | 'lt'

export type LabelRequirement = {
  readonly key: string
  readonly operator: LabelOperator
  /** Empty for `exists` and `!`; one for the comparisons. */
  readonly values: readonly string[]
}

/**
 * The grammar of a label selector's string form.
 *
 * ```
 * selector    = [ requirement *( "," requirement ) ]
 * requirement = "!" key | key | key ("in" | "notin") "(" value *( "," value ) ")"
 *             | key ("=" | "==" | "!=" | ">" | "<") value
 * value       = [ word ]
 * ```
 *
 * @source apimachinery `pkg/labels/selector.go`
 * @throws ApiError BadRequest in upstream's words
 */
export function parseRequirements(text: string): LabelRequirement[] {
  const tokens = new Tokens(text)
  const requirements: LabelRequirement[] = []
  for (;;) {
    const token = tokens.peek()
    if (token.kind === 'end') return requirements
    if (token.kind !== 'word' && token.kind !== '!') {
      throw refuse(`found '${token.text}', expected: !, identifier, or 'end of string'`)
    }
    requirements.push(requirementFrom(tokens))
    const after = tokens.next()
    if (after.kind === 'end') return requirements
    if (after.kind !== ',') throw refuse(`found '${after.text}', expected: ',' or 'end of string'`)
    const following = tokens.peek()
    if (following.kind !== 'word' && following.kind !== '!') {
      throw refuse(`found '${following.text}', expected: identifier after ','`)
    }
  }
}

function requirementFrom(tokens: Tokens): LabelRequirement {
  const first = tokens.next()
  if (first.kind === '!') {
    const key = tokens.next()
    if (key.kind !== 'word') throw refuse(`found '${key.text}', expected: identifier`)
    return { key: key.text, operator: '!', values: [] }
  }
  const key = first.text
  const ahead = tokens.peek()
  if (ahead.kind === 'end' || ahead.kind === ',') return { key, operator: 'exists', values: [] }
  const token = tokens.next()
  const operator = OPERATORS.get(token.text)
  if (operator === undefined) {
    throw refuse(`found '${token.text}', expected: in, notin, =, ==, !=, gt, lt`)
  }
  if (operator === 'in' || operator === 'notin') return { key, operator, values: valuesFrom(tokens) }
  return { key, operator, values: [exactFrom(tokens)] }
}

const OPERATORS: ReadonlyMap<string, LabelOperator> = new Map([
  ['in', 'in'],
  ['notin', 'notin'],
  ['=', '='],
  ['==', '=='],
  ['!=', '!='],
  ['>', 'gt'],
  ['<', 'lt'],
])

/** Here `in` and `notin` are ordinary values. Without a word the value is empty, as in `a=`. */
function exactFrom(tokens: Tokens): string {
  const token = tokens.peek()
  if (token.kind === 'end' || token.kind === ',') return ''
  tokens.next()
  if (token.kind !== 'word') throw refuse(`found '${token.text}', expected: identifier`)
  return token.text
}

function valuesFrom(tokens: Tokens): readonly string[] {
  const open = tokens.next()
  if (open.kind !== '(') throw refuse(`found '${open.text}', expected: '('`)
  const values = new Set<string>()
  for (;;) {
    const token = tokens.peek()
    if (token.kind === 'word') {
      tokens.next()
      values.add(token.text)
    } else {
      values.add('')
    }
    const after = tokens.next()
    if (after.kind === ')') return [...values].sort()
    if (after.kind !== ',') throw refuse(`found '${after.text}', expected: ',' or ')'`)
  }
}

function refuse(what: string): Error {
  return badRequest(`unable to parse requirement: ${what}`)
}

type Token = { readonly kind: 'word' | 'operator' | '!' | ',' | '(' | ')' | 'end'; readonly text: string }

const END: Token = { kind: 'end', text: '' }
const SPECIAL = '=!(),><'
const BLANK = ' \t\r\n'

/** Splits the text into words and operators, with one token of lookahead. */
class Tokens {
  readonly #text: string
  #at = 0
  #ahead: Token | null = null

  constructor(text: string) {
    this.#text = text
  }

  peek(): Token {
    this.#ahead ??= this.#scan()
    return this.#ahead
  }

  next(): Token {
    const token = this.peek()
    this.#ahead = null
    return token
  }

  #scan(): Token {
    while (this.#at < this.#text.length && BLANK.includes(this.#text.charAt(this.#at))) this.#at++
    if (this.#at >= this.#text.length) return END
    const sign = this.#text.charAt(this.#at)
    if (!SPECIAL.includes(sign)) return { kind: 'word', text: this.#word() }
    if (sign === ',' || sign === '(' || sign === ')') {
      this.#at++
      return { kind: sign, text: sign }
    }
    const start = this.#at
    while ('=!><'.includes(this.#text.charAt(this.#at)) && this.#at < this.#text.length) this.#at++
    const signs = this.#text.slice(start, this.#at)
    if (signs === '!') return { kind: '!', text: signs }
    if (!OPERATORS.has(signs)) throw refuse(`unknown operator '${signs}'`)
    return { kind: 'operator', text: signs }
  }

  #word(): string {
    const start = this.#at
    while (this.#at < this.#text.length) {
      const char = this.#text.charAt(this.#at)
      if (SPECIAL.includes(char) || BLANK.includes(char)) break
      this.#at++
    }
    return this.#text.slice(start, this.#at)
  }
}
