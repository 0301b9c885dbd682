import { badRequest } from '../../api/errors/standard-errors.ts'

/**
 * Returns the target in origin form, `/path?query`. An absolute URL, as sent to proxies, loses its
 * scheme and host before any further processing.
 *
 * @returns the target unchanged, when it has another form
 * @source RFC 9112 section 3.2.2
 */
export function originForm(target: string): string {
  if (target.startsWith('/')) return target
  const absolute = /^https?:\/\/[^/?#]*/i.exec(target)
  if (absolute === null) return target
  const rest = target.slice(absolute[0].length)
  return rest.startsWith('/') ? rest : `/${rest}`
}

/**
 * Rejects what different parsers would read differently: non-ASCII bytes, and a fragment, at which
 * a router ends the path.
 *
 * @throws ApiError `BadRequest`
 * @source RFC 9112 section 3.2, RFC 3986 section 3
 */
export function checkTarget(target: string): void {
  if (!target.startsWith('/'))
    throw badRequest('the request target must be a path, or a URL of http or https')
  if (/[^\x21-\x7e]|^[^?]*#/.test(target)) {
    throw badRequest('the request target has a character that must be percent-encoded as UTF-8')
  }
}
