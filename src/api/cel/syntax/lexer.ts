import { SyntaxFault } from './syntax-fault.ts'
import type { Token } from './token.ts'
import { readText } from './text-literal.ts'

/** @throws SyntaxFault */
export function tokensOf(source: string): readonly Token[] {
  const tokens: Token[] = []
  let at = skipSpace(source, 0)
  while (at < source.length) {
    const [token, end] = readToken(source, at)
    tokens.push(token)
    at = skipSpace(source, end)
  }
  tokens.push({ kind: 'end', at: source.length })
  return tokens
}

const SPACE = /(?:[ \t\n\f\r]+|\/\/[^\n]*)*/y
const TEXT_START = /(?:[bB]?[rR]?)(?:"|')/y
const NAME = /[A-Za-z_][A-Za-z0-9_]*/y
const DOUBLE = /(?:[0-9]+\.[0-9]+(?:[eE][+-]?[0-9]+)?|[0-9]+[eE][+-]?[0-9]+|\.[0-9]+(?:[eE][+-]?[0-9]+)?)/y
const INTEGER = /(0x[0-9a-fA-F]+|[0-9]+)([uU]?)/y
const SYMBOL = /&&|\|\||[=!<>]=|[<>!?:.,()[\]{}+\-*/%]/y

function skipSpace(source: string, at: number): number {
  SPACE.lastIndex = at
  return SPACE.test(source) ? SPACE.lastIndex : at
}

/** @returns the token, and the index after it */
function readToken(source: string, at: number): [Token, number] {
  if (matchAt(TEXT_START, source, at) !== undefined) return readText(source, at)
  const name = matchAt(NAME, source, at)
  if (name !== undefined) return [{ kind: 'name', text: name, at }, at + name.length]
  const double = matchAt(DOUBLE, source, at)
  if (double !== undefined) return [{ kind: 'double', text: double, at }, at + double.length]
  INTEGER.lastIndex = at
  const integer = INTEGER.exec(source)
  if (integer !== null) {
    const [all, digits = '', suffix] = integer
    return [{ kind: suffix === '' ? 'int' : 'uint', text: digits, at }, at + all.length]
  }
  const symbol = matchAt(SYMBOL, source, at)
  if (symbol !== undefined) return [{ kind: 'symbol', text: symbol, at }, at + symbol.length]
  const character = String.fromCodePoint(source.codePointAt(at) ?? 0)
  throw new SyntaxFault(at, `Syntax error: token recognition error at: '${character}'`)
}

function matchAt(pattern: RegExp, source: string, at: number): string | undefined {
  pattern.lastIndex = at
  return pattern.exec(source)?.[0]
}
