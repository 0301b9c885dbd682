import { celLimits } from '../limits.ts'
import type { Expr, ListElement, MapEntry } from './expr.ts'
import { OPERATOR } from './expr.ts'
import { ExprBuilder, tooDeep } from './expr-builder.ts'
import type { Token } from './token.ts'
import { tokensOf } from './lexer.ts'
import { expandMacro } from './macros.ts'
import { numberLiteral } from './number-literal.ts'
import { SyntaxFault } from './syntax-fault.ts'

/**
 * Parses an expression by recursive descent, with precedence climbing for binary operators, and
 * expands its macros.
 *
 * @throws SyntaxFault
 */
export function parseExpression(source: string): Expr {
  if (source.length > celLimits.sourceCharactersMax)
    throw new SyntaxFault(0, `expression is longer than ${celLimits.sourceCharactersMax} characters`)
  return new Parser(source).parse()
}

/** Binary operators by precedence, loosest first. Chains of `&&` and `||` are balanced instead. */
const LEVELS: readonly (readonly string[])[] = [
  ['==', '!=', '<', '<=', '>', '>=', 'in'],
  ['+', '-'],
  ['*', '/', '%'],
]

/** Words that cannot be names. */
const KEYWORDS: ReadonlySet<string> = new Set(['true', 'false', 'null', 'in'])
/** Words that can be names of fields and methods, but not of variables and functions. */
const RESERVED: ReadonlySet<string> = new Set(
  'as break const continue else for function if import let loop package namespace return var void while'.split(
    ' ',
  ),
)

class Parser {
  readonly #source: string
  readonly #tokens: readonly Token[]
  readonly #build = new ExprBuilder()
  #next = 0
  #depth = 0

  constructor(source: string) {
    this.#source = source
    this.#tokens = tokensOf(source)
  }

  parse(): Expr {
    const expr = this.#expression()
    if (this.#token.kind !== 'end') throw this.#unexpected('<EOF>')
    return expr
  }

  /** Parses a conditional, or an expression that binds tighter. */
  #expression(): Expr {
    if (++this.#depth > celLimits.depthMax) throw tooDeep(this.#token.at)
    const condition = this.#logical('||', OPERATOR.or, () => this.#and())
    let expr = condition
    const { at } = this.#token
    if (this.#take('?')) {
      const yes = this.#logical('||', OPERATOR.or, () => this.#and())
      this.#expect(':')
      expr = this.#build.call(at, OPERATOR.conditional, [condition, yes, this.#expression()])
    }
    this.#depth--
    return expr
  }

  #and(): Expr {
    return this.#logical('&&', OPERATOR.and, () => this.#binary(0))
  }

  /** A chain of one operator becomes a balanced tree, so that long chains are not deep. */
  #logical(symbol: string, name: string, operand: () => Expr): Expr {
    const terms = [operand()]
    const places: number[] = []
    for (let { at } = this.#token; this.#take(symbol); { at } = this.#token) {
      places.push(at)
      terms.push(operand())
    }
    return this.#balanced(name, terms, places, 0, terms.length - 1)
  }

  #balanced(name: string, terms: Expr[], places: number[], first: number, last: number): Expr {
    const only = terms[first]
    if (first === last && only !== undefined) return only
    const middle = Math.floor((first + last) / 2)
    return this.#build.call(places[middle] ?? 0, name, [
      this.#balanced(name, terms, places, first, middle),
      this.#balanced(name, terms, places, middle + 1, last),
    ])
  }

  #binary(level: number): Expr {
    const operators = LEVELS[level]
    if (operators === undefined) return this.#unary()
    let left = this.#binary(level + 1)
    for (let token = this.#token; isOperator(token, operators); token = this.#token) {
      this.#next++
      const name = token.text === 'in' ? '@in' : `_${token.text}_`
      left = this.#build.call(token.at, name, [left, this.#binary(level + 1)])
    }
    return left
  }

  #unary(): Expr {
    const { at } = this.#token
    const symbol = this.#take('!') ? '!' : this.#take('-') ? '-' : undefined
    if (symbol === undefined) return this.#member(this.#primary())
    let count = 1
    while (this.#take(symbol)) count++
    const token = this.#token
    const isNumber = token.kind === 'int' || token.kind === 'double'
    if (symbol === '-' && isNumber) {
      this.#next++
      const number = this.#member(this.#build.literal(at, numberLiteral(token, true)))
      return count % 2 === 1 ? number : this.#build.call(at, OPERATOR.negate, [number])
    }
    const operand = this.#member(this.#primary())
    if (count % 2 === 0) return operand
    return this.#build.call(at, symbol === '!' ? OPERATOR.not : OPERATOR.negate, [operand])
  }

  #member(start: Expr): Expr {
    let expr = start
    for (;;) {
      const { at } = this.#token
      if (this.#take('.')) expr = this.#selection(expr, at)
      else if (this.#take('[')) {
        const name = this.#take('?') ? OPERATOR.optionalIndex : OPERATOR.index
        const index = this.#expression()
        this.#expect(']')
        expr = this.#build.call(at, name, [expr, index])
      } else return expr
    }
  }

  #selection(operand: Expr, dot: number): Expr {
    if (this.#take('?')) {
      const { at } = this.#token
      const field = this.#build.literal(at, { type: 'string', value: this.#name(KEYWORDS) })
      return this.#build.call(dot, OPERATOR.optionalSelect, [operand, field])
    }
    const name = this.#name(KEYWORDS)
    const { at } = this.#token
    if (!this.#take('(')) return this.#build.select(dot, operand, name, false)
    const args = this.#arguments(')')
    return (
      expandMacro(this.#build, at, name, operand, args) ?? this.#build.memberCall(at, name, operand, args)
    )
  }

  #primary(): Expr {
    const token = this.#token
    const { at } = token
    if (this.#take('(')) {
      const expr = this.#expression()
      this.#expect(')')
      return expr
    }
    if (this.#take('[')) return this.#build.list(at, this.#elements())
    if (this.#take('{')) return this.#build.map(at, this.#entries())
    switch (token.kind) {
      case 'string':
        this.#next++
        return this.#build.literal(at, { type: 'string', value: token.value })
      case 'bytes':
        this.#next++
        return this.#build.literal(at, { type: 'bytes', value: token.value })
      case 'int':
      case 'uint':
      case 'double':
        this.#next++
        return this.#build.literal(at, numberLiteral(token, false))
      case 'name':
        return this.#named(token.text, at)
      case 'symbol':
      case 'end':
        // A leading dot names a variable of the outermost container; there is no other one.
        if (this.#take('.')) return this.#variableOrCall(this.#name(KEYWORDS, RESERVED), at)
        throw this.#unexpected('an expression')
    }
  }

  #named(text: string, at: number): Expr {
    if (RESERVED.has(text)) throw new SyntaxFault(at, `reserved identifier: ${text}`)
    if (text === 'in') throw this.#unexpected('an expression')
    this.#next++
    if (text === 'true') return this.#build.literal(at, { type: 'bool', value: true })
    if (text === 'false') return this.#build.literal(at, { type: 'bool', value: false })
    if (text === 'null') return this.#build.literal(at, { type: 'null' })
    return this.#variableOrCall(text, at)
  }

  #variableOrCall(name: string, start: number): Expr {
    const { at } = this.#token
    if (this.#take('(')) {
      const args = this.#arguments(')')
      return expandMacro(this.#build, at, name, undefined, args) ?? this.#build.call(at, name, args)
    }
    const struct = this.#structName(name)
    return struct === undefined
      ? this.#build.ident(start, name)
      : this.#build.struct(start, this.#skipFields(struct))
  }

  /** @returns the name of a type if `{` follows it, which is then taken */
  #structName(first: string): string | undefined {
    let name = first
    let ahead = this.#next
    for (;;) {
      if (this.#isSymbol(ahead, '{')) {
        this.#next = ahead + 1
        return name
      }
      const part = this.#tokens[ahead + 1]
      if (!this.#isSymbol(ahead, '.') || part?.kind !== 'name') return undefined
      name += `.${part.text}`
      ahead += 2
    }
  }

  #skipFields(name: string): string {
    while (!this.#take('}')) {
      this.#take('?')
      this.#name()
      this.#expect(':')
      this.#expression()
      if (!this.#take(',') && !this.#isSymbol(this.#next, '}')) throw this.#unexpected("'}'")
    }
    return name
  }

  #arguments(close: string): Expr[] {
    const args: Expr[] = []
    if (this.#take(close)) return args
    do args.push(this.#expression())
    while (this.#take(','))
    this.#expect(close)
    return args
  }

  #elements(): ListElement[] {
    const elements: ListElement[] = []
    while (!this.#take(']')) {
      const optional = this.#take('?')
      elements.push({ optional, value: this.#expression() })
      if (!this.#take(',') && !this.#isSymbol(this.#next, ']')) throw this.#unexpected("']'")
    }
    return elements
  }

  #entries(): MapEntry[] {
    const entries: MapEntry[] = []
    while (!this.#take('}')) {
      const optional = this.#take('?')
      const key = this.#expression()
      this.#expect(':')
      entries.push({ optional, key, value: this.#expression() })
      if (!this.#take(',') && !this.#isSymbol(this.#next, '}')) throw this.#unexpected("'}'")
    }
    return entries
  }

  get #token(): Token {
    return this.#tokens[this.#next] ?? { kind: 'end', at: this.#source.length }
  }

  #isSymbol(index: number, text: string): boolean {
    const token = this.#tokens[index]
    return token?.kind === 'symbol' && token.text === text
  }

  #take(symbol: string): boolean {
    const found = this.#isSymbol(this.#next, symbol)
    if (found) this.#next++
    return found
  }

  #expect(symbol: string): void {
    if (!this.#take(symbol)) throw this.#unexpected(`'${symbol}'`)
  }

  #name(...excluded: readonly ReadonlySet<string>[]): string {
    const token = this.#token
    if (token.kind !== 'name' || excluded.some((words) => words.has(token.text)))
      throw this.#unexpected('IDENTIFIER')
    this.#next++
    return token.text
  }

  #unexpected(expected: string): SyntaxFault {
    const { at, kind } = this.#token
    const end = this.#tokens[this.#next + 1]?.at ?? this.#source.length
    const text = kind === 'end' ? '<EOF>' : this.#source.slice(at, Math.min(end, at + 40)).trim()
    return new SyntaxFault(at, `Syntax error: mismatched input '${text}' expecting ${expected}`)
  }
}

function isOperator(token: Token, operators: readonly string[]): token is Token & { text: string } {
  return (token.kind === 'symbol' || token.kind === 'name') && operators.includes(token.text)
}
