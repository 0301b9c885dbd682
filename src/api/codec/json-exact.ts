import { badRequest } from '../errors/standard-errors.ts'
import type { Json, JsonObjectDraft } from '../json.ts'
import { setMember } from '../json.ts'
import { listIndex, member, spellPath } from '../schema/path.ts'
import type { Path } from '../schema/path.ts'
import { wellFormed } from '../utf8.ts'

/**
 * Parses JSON text exactly where `JSON.parse` would change it: integers beyond 2^53 keep their
 * digits, as bigint, and an escaped lone surrogate such as `\ud800` becomes U+FFFD. Several times
 * slower than `JSON.parse`, so it is only for texts that need it.
 *
 * @param text accepted by `JSON.parse`, not deeper than `JSON_DEPTH_MAX`
 * @throws ApiError BadRequest naming the place: a number beyond what a double can hold
 * @source RFC 8259 sections 6 and 8.2; Go's encoding/json makes the same replacements
 */
export function parseExactly(text: string): Json {
  return new ExactReader(text).value(null)
}

/**
 * The original spelling of integers that are written as fractions, `1.0` and `1e3`, by member name
 * or index, in maps nested like the values. Values without such numbers are left out.
 */
export type Fractions = ReadonlyMap<string | number, string | Fractions>

/** A parsed JSON text with the spellings that the value alone cannot show. */
export type Spelled = { readonly value: Json; readonly fractions: Fractions }

/**
 * Like `parseExactly`, and also reports the fractions: members of integer types reject such
 * numbers, and the parsed value does not show the difference.
 *
 * @param text accepted by `parseExactly`
 * @source Go's encoding/json
 */
export function parseSpelled(text: string): Spelled {
  const reader = new ExactReader(text, true)
  const value = reader.value(null)
  const { fraction } = reader
  return { value, fractions: typeof fraction === 'object' && fraction !== null ? fraction : NO_FRACTIONS }
}

/**
 * Returns whether a text may contain fractions in the sense of `Fractions`. Cheap; false positives
 * are rare: a number of JSON is followed by the end of its value, unlike the version in the name of
 * an image and the fraction in a time.
 */
export function mayHaveFractions(text: string): boolean {
  return MAY_HAVE_FRACTIONS.test(text)
}

export const NO_FRACTIONS: Fractions = new Map()

const MAY_HAVE_FRACTIONS =
  /(?:^|[:[,\s])-?[0-9]+(?:\.[0-9]+(?:[eE][-+]?[0-9]+)?|[eE][-+]?[0-9]+)(?:[\s,\]}]|$)/

/**
 * Returns the canonical form of a number in a JSON tree: a bigint for integers beyond 2^53, which
 * JSON writes with all digits. From 1e21 on, numbers stay as they are, because they are written
 * with an exponent.
 *
 * @param value finite
 */
export function exactNumber(value: number): number | bigint {
  return Number.isInteger(value) && !Number.isSafeInteger(value) && Math.abs(value) < 1e21
    ? BigInt(String(value))
    : value
}

/**
 * Returns the error for a number that a double cannot hold.
 *
 * @param spelled as the client wrote it
 * @param path of the member that holds it; null: not known
 */
export function beyondDouble(spelled: string, path: Path | null): Error {
  const shown = spelled.length <= SHOWN_MAX ? spelled : `${spelled.slice(0, SHOWN_MAX)}...`
  const place = path === null ? '' : `${spellPath(path)}: `
  return badRequest(`${place}number ${shown} is outside the range of a 64-bit floating point number`)
}

const SHOWN_MAX = 64

const NUMBER = /-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/y
const WHOLE = /^-?[0-9]+$/

/** Parses a text that is known to be well-formed. */
class ExactReader {
  readonly #text: string
  readonly #notesFractions: boolean
  #at = 0
  /** For the value read last: its own spelling, or the fractions inside it. */
  #fraction: string | Fractions | null = null

  constructor(text: string, notesFractions = false) {
    this.#text = text
    this.#notesFractions = notesFractions
  }

  get fraction(): string | Fractions | null {
    return this.#fraction
  }

  value(path: Path | null): Json {
    switch (this.#next()) {
      case '{':
        return this.#object(path)
      case '[':
        return this.#list(path)
      case '"':
        return this.#string()
      case 't':
        return this.#word('true', true)
      case 'f':
        return this.#word('false', false)
      case 'n':
        return this.#word('null', null)
      default:
        return this.#number(path)
    }
  }

  #object(path: Path | null): Json {
    const draft: JsonObjectDraft = {}
    const fractions = new Map<string | number, string | Fractions>()
    this.#at++
    while (this.#next() !== '}') {
      if (this.#next() === ',') this.#at++
      this.#next()
      const name = this.#string()
      this.#next()
      this.#at++
      setMember(draft, name, this.value(member(path, name)))
      // The last of several members with the same name counts.
      if (this.#fraction === null) fractions.delete(name)
      else fractions.set(name, this.#fraction)
    }
    this.#at++
    this.#fraction = fractions.size > 0 ? fractions : null
    return draft
  }

  #list(path: Path | null): Json {
    const list: Json[] = []
    const fractions = new Map<string | number, string | Fractions>()
    this.#at++
    while (this.#next() !== ']') {
      if (this.#next() === ',') this.#at++
      list.push(this.value(listIndex(path, list.length)))
      if (this.#fraction !== null) fractions.set(list.length - 1, this.#fraction)
    }
    this.#at++
    this.#fraction = fractions.size > 0 ? fractions : null
    return list
  }

  #string(): string {
    const end = endOfString(this.#text, this.#at)
    const text = JSON.parse(this.#text.slice(this.#at, end)) as string
    this.#at = end
    this.#fraction = null
    return wellFormed(text)
  }

  #word<T extends Json>(word: string, value: T): T {
    this.#at += word.length
    this.#fraction = null
    return value
  }

  #number(path: Path | null): number | bigint {
    NUMBER.lastIndex = this.#at
    const spelled = NUMBER.exec(this.#text)?.[0] ?? ''
    this.#at += spelled.length
    const value = Number(spelled)
    if (!Number.isFinite(value)) throw beyondDouble(spelled, path)
    const isFraction = this.#notesFractions && Number.isInteger(value) && !WHOLE.test(spelled)
    this.#fraction = isFraction ? spelled : null
    if (Number.isSafeInteger(value)) return value
    return WHOLE.test(spelled) ? BigInt(spelled) : exactNumber(value)
  }

  /** Skips white space. @returns the next character */
  #next(): string {
    while (' \t\n\r'.includes(this.#text.charAt(this.#at)) && this.#at < this.#text.length) this.#at++
    return this.#text.charAt(this.#at)
  }
}

/**
 * @param start position of the opening quote
 * @returns the position after the closing quote
 */
export function endOfString(text: string, start: number): number {
  let at = start + 1
  for (;;) {
    const quote = text.indexOf('"', at)
    if (quote === -1) return text.length
    let backslashes = 0
    while (text.charAt(quote - 1 - backslashes) === '\\') backslashes++
    if (backslashes % 2 === 0) return quote + 1
    at = quote + 1
  }
}
