import type { Json } from '../json.ts'
import { wellFormed } from '../utf8.ts'
import { jsonText } from './json-text.ts'

/**
 * Formats a scalar, or an empty list or map. Multi-line text becomes a block scalar if possible.
 *
 * @param level indentation level of its lines
 */
export function yamlScalar(value: Json, level: number): string {
  if (typeof value === 'string') return yamlTextOf(value, level)
  const written = jsonText(value)
  // YAML 1.1 parsers read an exponent without a decimal point as text.
  return typeof value === 'number' ? written.replace(/^(-?[0-9]+)e/, '$1.0e') : written
}

/** Formats the name of a member. */
export function yamlName(name: string): string {
  return isPlain(name) ? name : yamlQuoted(name)
}

/** Returns the text in double quotes. Lone surrogates, which UTF-8 cannot encode, are replaced. */
export function yamlQuoted(text: string): string {
  return JSON.stringify(wellFormed(text)).replace(
    UNPRINTABLE_EACH,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function yamlTextOf(text: string, level: number): string {
  if (isPlain(text)) return text
  return block(text, level) ?? yamlQuoted(text)
}

/** @returns null if the text cannot be a block scalar, or would grow too much by its indentation */
function block(text: string, level: number): string | null {
  if (!text.includes('\n') || /^\s/.test(text) || UNPRINTABLE.test(text)) return null
  const lines = text.split('\n')
  const ended = lines.at(-1) === ''
  if (ended) lines.pop()
  if (lines.length * 2 * level > text.length + SHORT) return null
  const chomping = ended ? (lines.at(-1) === '' ? '|+' : '|') : '|-'
  const margin = '  '.repeat(level)
  return [chomping, ...lines.map((line) => (line === '' ? '' : margin + line))].join('\n')
}

/** Characters that indentation may add to a text, in addition to the length of the text. */
const SHORT = 4096

/**
 * Returns whether a text needs no quotes: it has no special characters, and all parsers read it as
 * a string.
 */
function isPlain(text: string): boolean {
  return PLAIN.test(text) && !WORDS_OF_OTHER_TYPES.test(text) && !NUMBERS_AND_DATES.test(text)
}

const PLAIN = /^\.?[\p{L}0-9_/](?:[\p{L}0-9_./@+=()%~$*<>;-]|:(?=[^\s:])| (?=[^\s#]))*$/u

/** @source yaml.org/type of YAML 1.1: bool, null, float; some parsers support only some of them */
const WORDS_OF_OTHER_TYPES = /^(?:y|yes|n|no|on|off|true|false|null|\.inf|\.nan)$/i

/**
 * Integers, octal, hexadecimal, binary, with a decimal point or exponent, base 60, and dates.
 *
 * @source yaml.org/type of YAML 1.1
 */
const NUMBERS_AND_DATES =
  /^\.?[0-9][0-9_]*(?:\.[0-9_.]*)?(?:e[-+]?[0-9]+)?$|^0(?:x[0-9a-f_]+|o[0-7_]+|b[01_]+)$|^[0-9][0-9_]*(?::[0-9]+)+(?:\.[0-9_]*)?$|^[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}/i

/**
 * Control characters except tab and newline, line separators, the byte order mark, two
 * noncharacters, and lone surrogates.
 */
const UNPRINTABLE = /[^\P{Cc}\t\n]|[\u2028\u2029\ufeff\ufffe\uffff]|\p{Cs}/u
const UNPRINTABLE_EACH = /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g
