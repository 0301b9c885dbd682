import { badRequest } from '../api/errors/standard-errors.ts'

/**
 * A target as most requests have it: `/path?query`. One that names the server as well, as for a proxy, is stripped of
 * that, before anybody looks at it.
 *
 * @returns the target as it is, when it has another form
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
 * Whatever else would read differently to different readers: bytes beyond ASCII come as what they are not, and a router
 * ends a path where a fragment begins.
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
