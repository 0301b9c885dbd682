import { badRequest } from '../../api/errors/standard-errors.ts'

/** Decoded query parameters; a name may repeat. */
export type Query = ReadonlyMap<string, readonly string[]>

export const emptyQuery: Query = new Map()

/**
 * @param text after the `?`
 * @throws ApiError `BadRequest` for an invalid escape
 */
export function parseQuery(text: string): Query {
  if (text === '') return emptyQuery
  const query = new Map<string, string[]>()
  for (const pair of text.split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    const name = decode(equals === -1 ? pair : pair.slice(0, equals))
    const value = equals === -1 ? '' : decode(pair.slice(equals + 1))
    const values = query.get(name)
    if (values === undefined) query.set(name, [value])
    else values.push(value)
  }
  return query
}

/** Returns the first value of a parameter; null when it is absent. */
export function firstOf(query: Query, name: string): string | null {
  return query.get(name)?.[0] ?? null
}

/** Only absence, `false` and `0` are false, as in upstream's conversion of parameters. */
export function isSet(query: Query, name: string): boolean {
  const value = firstOf(query, name)?.toLowerCase()
  return value !== undefined && value !== 'false' && value !== '0'
}

function decode(text: string): string {
  const spaced = text.includes('+') ? text.replaceAll('+', ' ') : text
  if (!spaced.includes('%')) return spaced
  try {
    return decodeURIComponent(spaced)
  } catch (cause) {
    throw badRequest('invalid URL escape in the query', { cause })
  }
}
