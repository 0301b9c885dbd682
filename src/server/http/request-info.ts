import { badRequest } from '../../api/errors/standard-errors.ts'
import type { Action } from '../../api/action.ts'
import { emptyQuery, firstOf, isSet, parseQuery } from './query.ts'
import type { Query } from './query.ts'

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
 * Rejects targets that are not paths, and what different parsers would read differently: bytes
 * other than printable ASCII, and a fragment, at which a router ends the path.
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

/** The parsed request line. */
export type RequestInfo = {
  readonly action: Action
  /** Decoded, without the query. */
  readonly path: string
  readonly query: Query
  /** The path names one object; otherwise a name in `action` was taken from a selector. */
  readonly named: boolean
  /**
   * `plain`: a path of spec 4.1. `odd`: authorized as `action`, but nothing is found there:
   * segments after a subresource that is not a proxy, an empty segment in the middle, a namespace
   * within a namespace, or one of upstream's old prefixes `watch` and `proxy`.
   */
  readonly shape: 'plain' | 'odd'
  /**
   * The subresource connects the caller to another server: the call may last, and has limits of its
   * own.
   */
  readonly connects: boolean
  /** The path at the target of a proxy, decoded: empty, or with a leading slash. */
  readonly below: string
}

/** The subresources of the core group that connect, except proxies. */
const CONNECTING: ReadonlySet<string> = new Set([
  ...['pods/attach', 'pods/exec', 'pods/log', 'pods/portforward'],
])
const PROXIES: ReadonlySet<string> = new Set(['nodes/proxy', 'pods/proxy', 'services/proxy'])

/**
 * Parses the target of a request to verb, resource and location. The whole path is decoded before
 * it is split, so authorization and dispatch never see two different paths.
 *
 * @param method upper case
 * @param target path and query, as sent
 * @throws ApiError `BadRequest` when it cannot be decoded, or has no resource after `watch` or
 * `proxy`
 * @source spec 4.1, 5.7; apiserver `pkg/endpoints/request/requestinfo.go`
 */
export function requestInfo(method: string, target: string): RequestInfo {
  const mark = target.indexOf('?')
  const path = decodePath(mark === -1 ? target : target.slice(0, mark))
  const query = mark === -1 ? emptyQuery : parseQuery(target.slice(mark + 1))
  const parts = splitPath(path)
  const core = parts[0] === 'api'
  if ((!core && parts[0] !== 'apis') || parts.length < (core ? 3 : 4)) {
    const action: Action = { kind: 'path', verb: method.toLowerCase(), path }
    return { action, path, query, named: false, shape: 'plain', connects: false, below: '' }
  }
  const group = core ? '' : (parts[1] as string)
  const version = parts[core ? 1 : 2] as string
  const odd = (group === '' && !core) || version === ''
  return resourceInfo({ method, path, query, group, version, odd, parts: parts.slice(core ? 2 : 3) })
}

/** Subresources of a namespace itself; any other segment after its name is a resource in it. */
const NAMESPACE_SUBRESOURCES: ReadonlySet<string> = new Set(['status', 'finalize'])
const SPECIAL_PREFIXES: ReadonlySet<string> = new Set(['proxy', 'watch'])

const METHOD_VERBS: ReadonlyMap<string, string> = new Map([
  ['GET', 'get'],
  ['HEAD', 'get'],
  ['POST', 'create'],
  ['PUT', 'update'],
  ['PATCH', 'patch'],
  ['DELETE', 'delete'],
])

function resourceInfo(of: {
  readonly method: string
  readonly path: string
  readonly query: Query
  readonly group: string
  readonly version: string
  /** Whether the segments before the resource make it odd. */
  readonly odd: boolean
  /** Segments from the resource on; at least one. */
  readonly parts: readonly string[]
}): RequestInfo {
  const { path, query, group, version } = of
  let { parts } = of
  const special = SPECIAL_PREFIXES.has(parts[0] as string)
  if (special && parts.length < 2) {
    throw badRequest(`unable to determine kind and namespace from url, ${path}`)
  }
  let odd = of.odd || special
  let verb = special ? (parts[0] as string) : (METHOD_VERBS.get(of.method) ?? '')
  if (special) parts = parts.slice(1)

  let namespace = ''
  if (parts[0] === 'namespaces' && parts.length > 1) {
    namespace = parts[1] as string
    if (parts.length > 2 && !NAMESPACE_SUBRESOURCES.has(parts[2] as string)) {
      parts = parts.slice(2)
      // Namespaces are not nested: rules for one must not match another.
      if (parts[0] === 'namespaces') odd = true
    }
  }
  const resource = parts[0] as string
  let name = parts[1] ?? ''
  const subresource = verb === 'proxy' ? '' : (parts[2] ?? '')
  const named = name !== ''
  // The segments after a proxied name are the path at the target, which may have empty ones.
  const isProxy = group === '' && named && !special && PROXIES.has(`${resource}/${subresource}`)
  const pathParts = isProxy ? parts.slice(3) : []
  if (parts.length > 3 && !isProxy) odd = true
  if (of.parts.slice(0, of.parts.length - pathParts.length).includes('')) odd = true
  // `watch` of a single object is not a watch; upstream returns the object, too.
  if (!named) {
    if (verb === 'get') {
      verb = isSet(query, 'watch') ? 'watch' : 'list'
      name = nameSelected(query)
    } else if (verb === 'delete') verb = 'deletecollection'
  }
  const action: Action = {
    kind: 'resource',
    verb,
    group,
    version,
    resource,
    subresource,
    namespace,
    name,
  }
  const isStream = group === '' && named && CONNECTING.has(`${resource}/${subresource}`)
  const connects = !odd && (isStream || isProxy)
  const below = isProxy && !odd ? pathBelow(pathParts, path) : ''
  return { action, path, query, named, shape: odd ? 'odd' : 'plain', connects, below }
}

/**
 * Returns the path at the target of a proxy.
 *
 * @param parts its segments, without empty ones at the end
 * @param path the whole path of the request
 */
function pathBelow(parts: readonly string[], path: string): string {
  const end = path.endsWith('/') ? '/' : ''
  return parts.length === 0 ? end : `/${parts.join('/')}${end}`
}

/**
 * Returns the name that a field selector requires; empty: none. For rules with resource names, a
 * collection that is narrowed to one name counts as that name.
 */
function nameSelected(query: Query): string {
  const selector = firstOf(query, 'fieldSelector')
  if (selector === null || !selector.includes('metadata.name')) return ''
  for (const term of selector.split(',')) {
    const equals = term.indexOf('=')
    if (equals === -1 || term.slice(0, equals).trim() !== 'metadata.name') continue
    const name = term.slice(term[equals + 1] === '=' ? equals + 2 : equals + 1).trim()
    if (name !== '' && !/[=!\\]/.test(name) && isPathSegment(name)) return name
  }
  return ''
}

/**
 * Whether a path segment can be a name.
 * @source apimachinery `pkg/api/validation/path`
 */
export function isPathSegment(part: string): boolean {
  return part !== '.' && part !== '..' && !part.includes('/') && !part.includes('%')
}

function decodePath(path: string): string {
  if (!path.includes('%')) return path
  try {
    return decodeURIComponent(path)
  } catch (cause) {
    throw badRequest('invalid URL escape in the path', { cause })
  }
}

/** Leading and trailing slashes are ignored. */
function splitPath(path: string): string[] {
  let start = 0
  let end = path.length
  while (start < end && path[start] === '/') start++
  while (end > start && path[end - 1] === '/') end--
  return start === end ? [] : path.slice(start, end).split('/')
}
