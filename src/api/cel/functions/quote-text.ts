import type { Evaluation } from '../evaluate/evaluation.ts'

/** Returns a text as a literal in double quotes, which is safe to print. */
export function quoteText(text: string, evaluation: Evaluation): string {
  // A function is called for each character that is escaped.
  evaluation.step(text.length)
  return `"${text.replace(ESCAPED, (character) => ESCAPES[character] ?? character)}"`
}

const ESCAPED = /[\p{Cc}\\"]/gu
const ESCAPES: Readonly<Record<string, string>> = {
  '\x07': '\\a',
  '\b': '\\b',
  '\f': '\\f',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\v': '\\v',
  '\\': '\\\\',
  '"': '\\"',
}
