/** A proxied target: `{name}`, `{name}:{port}` or `{scheme}:{name}:{port}`. */
export type ProxyTarget = {
  readonly scheme: '' | 'http' | 'https'
  readonly name: string
  /** A number or a name; empty: none. */
  readonly port: string
}

/**
 * @returns null for another form or scheme
 * @source apimachinery `pkg/util/net/port_split.go`
 */
export function proxyTarget(id: string): ProxyTarget | null {
  const parts = id.split(':')
  if (parts.length > 3) return null
  const [scheme, name, port] =
    parts.length === 3 ? parts : parts.length === 2 ? ['', ...parts] : ['', parts[0], '']
  if (scheme !== '' && scheme !== 'http' && scheme !== 'https') return null
  if (name === undefined || name === '' || port === undefined) return null
  return { scheme, name, port }
}

/** @returns null unless the text is the number of a port */
export function portNumber(text: string): number | null {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0
  return port >= 1 && port <= 65_535 ? port : null
}

/**
 * Returns the path at the target, percent-encoded, without empty segments, `.` and `..`.
 *
 * @param path decoded; empty or with a leading slash
 * @source apimachinery `pkg/util/net/http.go`, JoinPreservingTrailingSlash
 */
export function pathAtTarget(path: string): string {
  const segments: string[] = []
  for (const part of path.split('/')) {
    if (part === '..') segments.pop()
    else if (part !== '' && part !== '.') segments.push(encodedSegment(part))
  }
  const joined = `/${segments.join('/')}`
  return path.endsWith('/') && segments.length > 0 ? `${joined}/` : joined
}

/** Percent-encodes a segment. Characters that a segment may have stay as they are. */
function encodedSegment(part: string): string {
  return encodeURIComponent(part).replace(/%(?:24|26|2B|2C|3A|3B|3D|40)/g, decodeURIComponent)
}

/** Returns the query of a request target as sent, with its question mark. @returns empty: none */
export function rawQuery(target: string): string {
  const mark = target.indexOf('?')
  return mark === -1 || mark === target.length - 1 ? '' : target.slice(mark)
}

/**
 * Returns the location of a redirect so that the caller can follow it through the same proxy: the
 * path of the proxy is added before a path on the target. A URL of another server, and a relative
 * path, are unchanged.
 *
 * @param authority host and port of the target, as it was requested
 * @param base the path of the proxy, without a trailing slash
 * @source apimachinery `pkg/util/proxy/transport.go`, rewriteURL
 */
export function rewrittenLocation(location: string, authority: string, base: string): string {
  if (location.startsWith('/') && !location.startsWith('//')) return `${base}${location}`
  const match = /^(?:https?:)?\/\/([^/?#]*)(.*)$/i.exec(location)
  if (match === null || match[1]?.toLowerCase() !== authority.toLowerCase()) return location
  const rest = match[2] ?? ''
  return `${base}${rest.startsWith('/') ? '' : '/'}${rest}`
}
