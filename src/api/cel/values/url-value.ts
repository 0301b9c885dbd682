import { Buffer } from 'node:buffer'
import { CelOpaque } from './value.ts'

/** The parts of an absolute URL, or of an absolute path. */
export type UrlParts = {
  readonly scheme: string
  /** With the port; an IPv6 address in brackets. */
  readonly host: string
  readonly hostname: string
  readonly port: string
  readonly escapedPath: string
  /** The values of each key, in their order. */
  readonly query: ReadonlyMap<string, readonly string[]>
}

export class UrlValue extends CelOpaque {
  static readonly typeName = 'kubernetes.URL'
  readonly typeName = UrlValue.typeName
  readonly text: string
  readonly parts: UrlParts

  constructor(text: string, parts: UrlParts) {
    super()
    this.text = text
    this.parts = parts
  }

  equals(other: CelOpaque): boolean {
    return other instanceof UrlValue && other.text === this.text
  }
}

/**
 * Parses an absolute URL (`https://host/path?query`) or an absolute path, as Go's
 * `url.ParseRequestURI`, which knows no fragments.
 *
 * @returns the reason if it is neither
 */
export function parseUrl(text: string): UrlParts | string {
  if (text === '') return 'empty url'
  if (/\p{Cc}/u.test(text)) return 'invalid control character in URL'
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(text)?.[1] ?? ''
  if (scheme === '' && text.startsWith(':')) return 'missing protocol scheme'
  const rest = scheme === '' ? text : text.slice(scheme.length + 1)
  const [beforeQuery, query] = splitAt(rest, '?')
  if (!beforeQuery.startsWith('/')) {
    if (scheme === '') return 'invalid URI for request'
    return { ...EMPTY, scheme: scheme.toLowerCase(), query: parseQuery(query) }
  }
  if (scheme === '' || !beforeQuery.startsWith('//')) {
    const path = escapePath(beforeQuery)
    if (path === undefined) return 'invalid URL escape'
    return { ...EMPTY, scheme: scheme.toLowerCase(), escapedPath: path, query: parseQuery(query) }
  }
  const slash = beforeQuery.indexOf('/', 2)
  const authority = beforeQuery.slice(2, slash < 0 ? undefined : slash)
  const host = parseHost(authority)
  if (typeof host === 'string') return host
  const escapedPath = escapePath(slash < 0 ? '' : beforeQuery.slice(slash))
  if (escapedPath === undefined) return 'invalid URL escape'
  return { scheme: scheme.toLowerCase(), ...host, escapedPath, query: parseQuery(query) }
}

const EMPTY: UrlParts = {
  scheme: '',
  host: '',
  hostname: '',
  port: '',
  escapedPath: '',
  query: new Map(),
}

function parseHost(authority: string): Pick<UrlParts, 'host' | 'hostname' | 'port'> | string {
  const at = authority.lastIndexOf('@')
  if (at >= 0 && !/^[A-Za-z0-9\-._:~!$&'()*+,;=%@]*$/.test(authority.slice(0, at)))
    return 'net/url: invalid userinfo'
  const host = authority.slice(at + 1)
  const match = /^(\[[0-9A-Fa-f:.]*(?:%25[^\]]*)?\]|[^[\]:]*)(?::([0-9]*))?$/.exec(host)
  if (match === null) return 'invalid host or port'
  const [, name = '', port = ''] = match
  if (/[ "<>\\^`{|}#]/.test(name)) return 'invalid character in host name'
  const decoded = percentDecoded(name)
  if (decoded === undefined) return 'invalid URL escape'
  return { host: decoded + host.slice(name.length), hostname: decoded.replace(/^\[|\]$/g, ''), port }
}

function parseQuery(query: string): ReadonlyMap<string, readonly string[]> {
  const values = new Map<string, string[]>()
  for (const part of query.split('&')) {
    if (part === '' || part.includes(';')) continue
    const [key, value] = splitAt(part, '=').map((text) => percentDecoded(text.replaceAll('+', ' ')))
    if (key === undefined || value === undefined) continue
    const known = values.get(key)
    if (known === undefined) values.set(key, [value])
    else known.push(value)
  }
  return values
}

/**
 * Keeps a path that is escaped already. In any other, escapes exactly what has to be escaped.
 *
 * @returns undefined if an escape is broken
 */
function escapePath(path: string): string | undefined {
  if (BROKEN_ESCAPE.test(path)) return undefined
  if (/^[A-Za-z0-9\-._~!$&'()*+,;=:@/[\]%]*$/.test(path)) return path
  return path.replace(/%[0-9A-Fa-f]{2}|[^A-Za-z0-9\-._~$&+,;=:@/]/gu, (part) => {
    if (part.length < 3) return escapeBytes(part)
    const character = String.fromCharCode(parseInt(part.slice(1), 16))
    return /[A-Za-z0-9\-._~$&+,;=:@/]/.test(character) ? character : part.toUpperCase()
  })
}

/** Escapes the bytes of a character; half a pair of surrogates counts as U+FFFD. */
function escapeBytes(character: string): string {
  return Buffer.from(character).toString('hex').toUpperCase().replace(/../g, '%$&')
}

const BROKEN_ESCAPE = /%(?![0-9A-Fa-f]{2})/

/**
 * Decodes the bytes that are escaped. Those that are not UTF-8, which Go keeps in its texts, become
 * U+FFFD.
 *
 * @returns undefined if an escape is broken
 */
function percentDecoded(text: string): string | undefined {
  if (!text.includes('%')) return text
  if (BROKEN_ESCAPE.test(text)) return undefined
  return text.replace(/(?:%[0-9A-Fa-f]{2})+/g, (bytes) =>
    Buffer.from(bytes.replaceAll('%', ''), 'hex').toString('utf8'),
  )
}

function splitAt(text: string, separator: string): readonly [string, string] {
  const at = text.indexOf(separator)
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + separator.length)]
}
