import { isIP, isIPv4, isIPv6 } from 'node:net'
import { parseTime } from '../metadata/time.ts'
import { utf8Length } from '../utf8.ts'

/**
 * Returns the check of a format. Unknown formats accept every text, as upstream; `-` in names of
 * formats is ignored.
 *
 * @returns null: it accepts every text
 * @source kube-openapi `pkg/validation/strfmt`, and the formats that apiextensions supports:
 * `pkg/apiserver/validation/formats.go`
 */
export function formatCheck(format: string): FormatCheck | null {
  const name = format.replaceAll('-', '')
  const accepts = FORMATS.get(name)
  if (accepts === undefined) return null
  return { accepts, charactersAStep: COUNTING.has(name) ? 2 : 12 }
}

export type FormatCheck = {
  /** Returns whether a text has the format. */
  readonly accepts: Format
  /** How many characters are checked in one step. */
  readonly charactersAStep: number
}

type Format = (text: string) => boolean

/** Formats whose checks look at each character several times. */
const COUNTING: ReadonlySet<string> = new Set(['creditcard', 'isbn', 'isbn10', 'isbn13'])

/**
 * All checks are linear in the text: where backtracking is possible, the length is checked first.
 */
const FORMATS: ReadonlyMap<string, Format> = new Map<string, Format>([
  ['bsonobjectid', matching(/^[0-9a-fA-F]{24}$/)],
  ['byte', (text) => text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text)],
  ['cidr', isCidr],
  ['creditcard', isCardNumber],
  ['date', isDate],
  ['datetime', isDateTime],
  ['duration', isDuration],
  ['email', isEmail],
  ['hexcolor', matching(/^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/)],
  ['hostname', isHostname],
  ['ipv4', (text) => isAddress(text) && text.includes('.')],
  ['ipv6', (text) => isAddress(text) && text.includes(':')],
  ['isbn', (text) => isIsbn10(text) || isIsbn13(text)],
  ['isbn10', isIsbn10],
  ['isbn13', isIsbn13],
  ['mac', isMac],
  ['password', () => true],
  ['rgbcolor', isRgb],
  ['ssn', matching(/^[0-9]{3}[- ]?[0-9]{2}[- ]?[0-9]{4}$/)],
  ['uri', isRequestUri],
  ['uuid', uuid('[0-9a-f]', '[0-9a-f]')],
  ['uuid3', uuid('3', '[0-9a-f]')],
  ['uuid4', uuid('4', '[89ab]')],
  ['uuid5', uuid('5', '[89ab]')],
])

function matching(expression: RegExp): Format {
  return (text) => expression.test(text)
}

/**
 * Returns the check of a UUID.
 *
 * @param version first digit of the third group
 * @param variant first digit of the fourth group
 */
function uuid(version: string, variant: string): Format {
  const parts = [
    '[0-9a-f]{8}',
    '[0-9a-f]{4}',
    `${version}[0-9a-f]{3}`,
    `${variant}[0-9a-f]{3}`,
    '[0-9a-f]{12}',
  ]
  return matching(new RegExp(`^${parts.join('-?')}$`, 'i'))
}

/** Returns whether a text is an IP address without a zone. */
function isAddress(text: string): boolean {
  return isIP(text) !== 0 && !text.includes('%')
}

function isCidr(text: string): boolean {
  const [address = '', bits = '', ...more] = text.split('/', 3)
  if (more.length > 0 || !/^(?:0|[1-9][0-9]{0,2})$/.test(bits) || address.includes('%')) return false
  return (isIPv4(address) && Number(bits) <= 32) || (isIPv6(address) && Number(bits) <= 128)
}

function isMac(text: string): boolean {
  if (text.length > 59) return false
  const bytes = /^[0-9a-f]{2}([:-])[0-9a-f]{2}(?:\1[0-9a-f]{2})*$/i
  const words = /^[0-9a-f]{4}(?:\.[0-9a-f]{4})*$/i
  if (!bytes.test(text) && !words.test(text)) return false
  return [6, 8, 20].includes(text.replace(/[:.-]/g, '').length / 2)
}

function isDate(text: string): boolean {
  return text.length === 10 && parseTime(`${text}T00:00:00Z`) !== null
}

function isDateTime(text: string): boolean {
  const [date = '', time = ''] = text.toLowerCase().split('t', 2)
  const parts = /^([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})$/.exec(time)
  if (!isDate(date) || parts === null) return false
  const [hour, minute, second] = parts.slice(1, 4).map(Number)
  return Number(hour) <= 23 && Number(minute) <= 59 && Number(second) <= 59
}

/** A duration in the syntax of Go, or in words: `3 days`. */
function isDuration(text: string): boolean {
  if (text.length > 1024) return false
  if (/^[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:ns|us|µs|μs|ms|s|m|h))+$/.test(text)) return true
  if (/^[+-]?0$/.test(text)) return true
  if (!/^\s*(?:[0-9]+\s*[A-Za-zµ]+\s*)+$/.test(text)) return false
  return (text.match(/[A-Za-zµ]+/g) ?? []).some((word) => UNIT.test(word))
}

const UNIT = /^(?:ns|us|µs|ms|s|m|h|hr|d|w|wk|nano.*|micro.*|milli.*|sec.*|min.*|hour.*|day.*|week.*)$/i

/** An address of RFC 5322, with or without a display name. */
function isEmail(text: string): boolean {
  if (text.length > 1024) return false
  const named = /^[^<>]*<([^<>]*)>\s*$/.exec(text)
  const address = (named?.[1] ?? text).trim()
  const at = address.lastIndexOf('@')
  const [local, domain] = [address.slice(0, at), address.slice(at + 1)]
  if (at <= 0 || domain === '') return false
  const atoms = /^[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+(?:\.[\p{L}\p{N}!#$%&'*+/=?^_`{|}~-]+)*$/u
  const isQuoted = /^"(?:[^"\\]|\\.)*"$/.test(local)
  return (atoms.test(local) || isQuoted) && (atoms.test(domain) || /^\[[^[\]\\]*\]$/.test(domain))
}

const HOST_CHARACTER = 'a-zA-Z0-9\\p{S}\\p{L}'
const HOST_LABEL = `[${HOST_CHARACTER}](?:[${HOST_CHARACTER}-]{0,61}[${HOST_CHARACTER}])?`
const HOSTNAME = new RegExp(
  `^(?:[${HOST_CHARACTER}]-?[${HOST_CHARACTER}]{0,62}|` +
    `(?:${HOST_LABEL}\\.)+[${HOST_CHARACTER}](?:-?[${HOST_CHARACTER}]){1,62})$`,
  'u',
)

function isHostname(text: string): boolean {
  if (text.length > 255 || utf8Length(text) > 255 || !HOSTNAME.test(text)) return false
  return text.split('.').every((label) => utf8Length(label) <= 63)
}

/** An absolute URI, or a path from the root. @source Go's net/url ParseRequestURI */
function isRequestUri(text: string): boolean {
  if (!/^(?:\/|[A-Za-z][A-Za-z0-9+.-]*:)/.test(text) || /\p{Cc}/u.test(text)) return false
  if (/%(?![0-9a-fA-F]{2})/.test(text)) return false
  const authority = /^[A-Za-z][A-Za-z0-9+.-]*:\/\/([^/?]*)/.exec(text)?.[1]
  if (authority === undefined) return true
  const host = authority.slice(authority.lastIndexOf('@') + 1)
  return /^(?:\[[0-9A-Fa-f:.%a-z]*\]|[^\s:<>"[\]\\^`{|}]*)(?::[0-9]*)?$/.test(host)
}

function isIsbn10(text: string): boolean {
  const digits = text.replace(/[\s-]+/g, '')
  if (!/^[0-9]{9}[0-9X]$/.test(digits)) return false
  const sum = [...digits].reduce(
    (total, digit, at) => total + (at + 1) * (digit === 'X' ? 10 : Number(digit)),
    0,
  )
  return sum % 11 === 0
}

function isIsbn13(text: string): boolean {
  const digits = text.replace(/[\s-]+/g, '')
  if (!/^[0-9]{13}$/.test(digits)) return false
  return (
    [...digits].reduce((total, digit, at) => total + (at % 2 === 0 ? 1 : 3) * Number(digit), 0) % 10 === 0
  )
}

/**
 * Returns whether a number has the length and prefix of a known card issuer and a valid checksum.
 *
 * @source ISO/IEC 7812: Luhn
 */
function isCardNumber(text: string): boolean {
  const digits = text.replace(/[^0-9]+/g, '')
  if (!CARD.test(digits)) return false
  const sum = [...digits].reverse().reduce((total, digit, at) => {
    const value = Number(digit) * (at % 2 === 0 ? 1 : 2)
    return total + (value > 9 ? value - 9 : value)
  }, 0)
  return sum % 10 === 0
}

const CARD =
  /^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9]{2})[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11})$/

function isRgb(text: string): boolean {
  const parts = /^rgb\(\s*([0-9]{1,3})\s*,\s*([0-9]{1,3})\s*,\s*([0-9]{1,3})\s*\)$/.exec(text)
  return (
    parts !== null && parts.slice(1).every((part) => Number(part) <= 255 && String(Number(part)) === part)
  )
}
