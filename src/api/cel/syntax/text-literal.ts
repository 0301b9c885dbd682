import { Buffer } from 'node:buffer'
import type { Token } from './token.ts'
import { SyntaxFault } from './syntax-fault.ts'

/**
 * Reads a string or bytes literal: `'a'`, `"a"`, `'''a'''`, raw with `r`, bytes with `b`.
 *
 * @param at index of its first character, a prefix or a quote
 * @returns the token, and the index after it
 * @throws SyntaxFault
 */
export function readText(source: string, at: number): [Token, number] {
  START.lastIndex = at
  const [prefix = '', quote = ''] = START.exec(source)?.slice(1) ?? []
  const start = at + prefix.length + quote.length
  const isRaw = /r/i.test(prefix)
  const end = endOfText(source, start, quote, isRaw)
  if (end === undefined)
    throw new SyntaxFault(at, `Syntax error: token recognition error at: '${source.slice(at, at + 20)}'`)
  const body = source.slice(start, end)
  const after = end + quote.length
  if (!/b/i.test(prefix)) {
    const value = isRaw ? body : body.replace(ESCAPE, (escape) => textOf(escape, at))
    return [{ kind: 'string', value, at }, after]
  }
  return [{ kind: 'bytes', value: isRaw ? Buffer.from(body, 'utf8') : bytesOf(body, at), at }, after]
}

const START = /([bB]?[rR]?)("""|'''|"|')/y
const ESCAPE = /\\(?:x[0-9a-fA-F]{2}|X[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2}|[^])|\\$/gu

/** @returns the index of the closing quote; undefined if there is none */
function endOfText(source: string, start: number, quote: string, isRaw: boolean): number | undefined {
  for (let at = start; at < source.length; at++) {
    if (source.startsWith(quote, at)) return at
    const character = source[at]
    if (character === '\\' && !isRaw) at++
    else if (quote.length === 1 && (character === '\n' || character === '\r')) return undefined
  }
  return undefined
}

const SIMPLE: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
  v: '\v',
  '\\': '\\',
  '?': '?',
  '"': '"',
  "'": "'",
  '`': '`',
}

function textOf(escape: string, at: number): string {
  const code = codeOf(escape)
  if (code === undefined) return simple(escape, at)
  if (code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
    throw new SyntaxFault(at, `Syntax error: invalid unicode code point: ${escape}`)
  return String.fromCodePoint(code)
}

/** In bytes, `\x` and octal escapes are bytes, and there are no escapes of code points. */
function bytesOf(body: string, at: number): Uint8Array {
  const parts: Uint8Array[] = []
  let from = 0
  for (const match of body.matchAll(ESCAPE)) {
    const escape = match[0]
    parts.push(Buffer.from(body.slice(from, match.index), 'utf8'))
    from = match.index + escape.length
    const code = codeOf(escape)
    if (code === undefined) parts.push(Buffer.from(simple(escape, at), 'utf8'))
    else if (/^\\u/i.test(escape))
      throw new SyntaxFault(at, `Syntax error: invalid escape in bytes: ${escape}`)
    else parts.push(Uint8Array.of(code))
  }
  parts.push(Buffer.from(body.slice(from), 'utf8'))
  const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0))
  let offset = 0
  for (const part of parts) {
    all.set(part, offset)
    offset += part.length
  }
  return all
}

function codeOf(escape: string): number | undefined {
  if (/^\\[xXuU].{2,}$/u.test(escape)) return Number.parseInt(escape.slice(2), 16)
  return /^\\[0-3]/.test(escape) && escape.length === 4 ? Number.parseInt(escape.slice(1), 8) : undefined
}

function simple(escape: string, at: number): string {
  const text = SIMPLE[escape.slice(1)]
  if (text === undefined) throw new SyntaxFault(at, `Syntax error: invalid escape sequence: ${escape}`)
  return text
}
