import { badRequest, notAcceptable, unsupportedMediaType } from './errors/standard-errors.ts'
import type { Encoding } from './codec/document.ts'
import { namesOf } from './metadata/names.ts'

/** One entry of an Accept header, or a Content-Type. */
export type MediaType = {
  /** Lower-case, such as `application/json` or `text/*`. */
  readonly type: string
  /** Names lower-case, without `q`. */
  readonly parameters: ReadonlyMap<string, string>
  /** 0 to 1 */
  readonly quality: number
}

/** A representation that this server can send. */
export type Served = {
  readonly type: string
  /**
   * Allowed values of the parameters that select a representation; see `CHOOSING`. An entry of an
   * Accept header does not match if it has another value, or such a parameter that is not listed.
   */
  readonly parameters?: { readonly [name: string]: readonly string[] }
  /** Only served to clients whose Accept header names all these parameters with the same values. */
  readonly required?: { readonly [name: string]: string }
}

const HEADER_LENGTH_MAX = 8 * 1024
const ENTRIES_MAX = 64

/**
 * Returns the entry of `served` that the client prefers. Entries are ordered by quality, then by
 * the header; unsupported ones are skipped, which is how clients name fallbacks.
 *
 * @param accept header value; empty: anything
 * @param served in the server's order of preference, which applies to `*`
 * @throws ApiError NotAcceptable; BadRequest: a header beyond the limits
 * @source RFC 9110 section 12.5.1; spec 4.7
 */
export function negotiate<T extends Served>(accept: string, served: readonly T[]): T {
  const wanted = parseAccept(accept)
  for (const entry of wanted) {
    if (entry.quality === 0) continue
    const found = served.find((one) => accepts(entry, one) && !refused(wanted, one))
    if (found !== undefined) return found
  }
  throw notAcceptable([...new Set(served.map((one) => one.type))])
}

/** @returns by descending quality, equal ones in order; an absent header accepts anything */
export function parseAccept(accept: string): readonly MediaType[] {
  if (accept.length > HEADER_LENGTH_MAX) throw badRequest('the Accept header is too long')
  const entries = splitOutsideQuotes(accept, ',')
    .map((text) => text.trim())
    .filter((text) => text !== '')
  if (entries.length > ENTRIES_MAX) throw badRequest('the Accept header has too many entries')
  if (entries.length === 0) return [{ type: '*/*', parameters: new Map(), quality: 1 }]
  return entries.map(parseMediaType).sort((a, b) => b.quality - a.quality)
}

export function parseMediaType(text: string): MediaType {
  const [type = '', ...rest] = splitOutsideQuotes(text, ';').map((part) => part.trim())
  const parameters = new Map<string, string>()
  let quality = 1
  for (const part of rest) {
    const equals = part.indexOf('=')
    if (equals === -1) continue
    const name = part.slice(0, equals).trim().toLowerCase()
    const value = unquoted(part.slice(equals + 1).trim())
    if (name === 'q') quality = qualityOf(value)
    else parameters.set(name, value)
  }
  return { type: type.toLowerCase(), parameters, quality }
}

/**
 * Media types for objects, in order of preference. Clients built for either domain are supported.
 */
export const BODY_TYPES: readonly { readonly type: string; readonly format: Encoding }[] = [
  { type: 'application/json', format: 'json' },
  { type: 'application/yaml', format: 'yaml' },
  { type: namesOf('orch.io').protobufMediaType, format: 'protobuf' },
  { type: namesOf('k8s.io').protobufMediaType, format: 'protobuf' },
]

const SERVED_PARAMETERS = { stream: ['watch'] }

/** Media types for objects, lists and watches. */
export const ENCODINGS_SERVED: readonly (Served & { readonly encoding: Encoding })[] = BODY_TYPES.map(
  ({ type, format }) => ({ type, encoding: format, parameters: SERVED_PARAMETERS }),
)
export const JSON_SERVED = ENCODINGS_SERVED.filter(({ encoding }) => encoding === 'json')

/**
 * Returns the encoding of the body of a create, update or delete.
 *
 * @param contentType header value; empty means JSON, as upstream
 * @param known encodings that the kind supports
 * @throws ApiError UnsupportedMediaType
 */
export function bodyFormatOf(contentType: string, known: readonly Encoding[]): Encoding {
  const { type } = parseMediaType(contentType)
  if (type === '' || type === '*/*') return 'json'
  const taken = BODY_TYPES.filter(({ format }) => known.includes(format))
  const found = taken.find((one) => one.type === type)
  if (found === undefined) throw unsupportedMediaType(taken.map((one) => one.type))
  return found.format
}

export type PatchFormat = 'json-patch' | 'merge-patch' | 'strategic-merge-patch' | 'apply-patch'

const PATCH_FORMATS = Object.freeze({
  'json-patch': 'application/json-patch+json',
  'merge-patch': 'application/merge-patch+json',
  'strategic-merge-patch': 'application/strategic-merge-patch+json',
  'apply-patch': 'application/apply-patch+yaml',
}) satisfies Record<PatchFormat, string>

/**
 * @param known formats that the kind supports
 * @throws ApiError UnsupportedMediaType
 * @source spec 4.3
 */
export function patchFormatOf(contentType: string, known: readonly PatchFormat[]): PatchFormat {
  const { type } = parseMediaType(contentType)
  const found = known.find((format) => PATCH_FORMATS[format] === type)
  if (found === undefined) throw unsupportedMediaType(known.map((format) => PATCH_FORMATS[format]))
  return found
}

export function patchMediaType(format: PatchFormat): string {
  return PATCH_FORMATS[format]
}

function accepts(entry: MediaType, served: Served): boolean {
  if (!covers(entry.type, served.type)) return false
  const required = Object.entries(served.required ?? {})
  if (required.some(([name, value]) => entry.parameters.get(name) !== value)) return false
  for (const [name, value] of entry.parameters) {
    if (!CHOOSING.has(name)) continue
    if (served.required !== undefined && Object.hasOwn(served.required, name)) continue
    const known = served.parameters?.[name]
    if (known === undefined || !known.includes(value.toLowerCase())) return false
  }
  return true
}

/**
 * Parameters that select a representation. All others are ignored, as clients send arbitrary values
 * for them.
 *
 * @source apiserver `pkg/endpoints/handlers/negotiation`
 */
const CHOOSING: ReadonlySet<string> = new Set(['as', 'g', 'v', 'stream'])

/** A type with quality 0 is not sent, even if a wildcard matches it. */
function refused(wanted: readonly MediaType[], served: Served): boolean {
  if (served.required !== undefined) return false
  const exact = wanted.filter((entry) => entry.type === served.type && entry.parameters.size === 0)
  return exact.length > 0 && exact.every((entry) => entry.quality === 0)
}

function covers(range: string, type: string): boolean {
  if (range === '*/*' || range === '*' || range === type) return true
  return range.endsWith('/*') && type.startsWith(range.slice(0, -1))
}

function qualityOf(value: string): number {
  return /^(?:0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)$/.test(value) ? Number(value) : 1
}

function unquoted(value: string): string {
  if (value.length < 2 || !value.startsWith('"') || !value.endsWith('"')) return value
  return value.slice(1, -1).replace(/\\(.)/g, '$1')
}

function splitOutsideQuotes(text: string, separator: string): string[] {
  if (!text.includes('"')) return text.split(separator)
  const parts: string[] = []
  let start = 0
  let quoted = false
  for (let at = 0; at < text.length; at++) {
    const char = text.charAt(at)
    if (quoted && char === '\\') at++
    else if (char === '"') quoted = !quoted
    else if (char === separator && !quoted) {
      parts.push(text.slice(start, at))
      start = at + 1
    }
  }
  parts.push(text.slice(start))
  return parts
}
