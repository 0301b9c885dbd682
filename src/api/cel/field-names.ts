/**
 * Names of JSON members in expressions. `a-b` is `a__dash__b`, because a name in an expression
 * consists of letters, digits and underscores; reserved words get two underscores before and after
 * them.
 *
 * @source apiserver `pkg/cel/escaping.go`
 */

/** @returns undefined if no expression can name the member */
export function celFieldName(member: string): string | undefined {
  if (RESERVED.has(member)) return `__${member}__`
  if (!/^[A-Za-z_./-][A-Za-z0-9_./-]*$/.test(member)) return undefined
  return member.replace(/__|[./-]/g, (found) => ESCAPES[found] ?? found)
}

const ESCAPES: Readonly<Record<string, string>> = {
  __: '__underscores__',
  '.': '__dot__',
  '/': '__slash__',
  '-': '__dash__',
}

const RESERVED: ReadonlySet<string> = new Set([
  'true',
  'false',
  'null',
  'in',
  'as',
  'break',
  'const',
  'continue',
  'else',
  'for',
  'function',
  'if',
  'import',
  'let',
  'loop',
  'package',
  'namespace',
  'return',
  'var',
  'void',
  'while',
])
