import type { RouteOptions } from 'fastify'
import { methodNotAllowed, pathNotFound } from '../../api/errors/standard-errors.ts'
import type { ApiError } from '../../api/errors/api-error.ts'
import { EVERY_METHOD } from '../calls/fastify-types.ts'
import type { RequestInfo } from '../http/request-info.ts'

type NoRouteDependencies = {
  /**
   * @returns null where no kind is served
   * @throws ApiError `BadRequest` for invalid names, `NotFound` for a path that the kind lacks
   */
  readonly resourceMethods: (info: RequestInfo) => readonly string[] | null
  /**
   * Whether discovery has a document there.
   * @param path without a trailing slash
   */
  readonly isDiscovery: (path: string) => boolean
}

/**
 * The response where no route takes a request: 405 with the methods of its path, which RFC 9110
 * requires, or 404.
 *
 * @source RFC 9110 sections 10.2.1, 15.5.6
 */
export class NoRoute {
  readonly #dependencies: NoRouteDependencies
  readonly #routes = new Map<string, Set<string>>()

  constructor(dependencies: NoRouteDependencies) {
    this.#dependencies = dependencies
  }

  /** Records a route; routes for every method are skipped. */
  note({ url, method }: Pick<RouteOptions, 'url' | 'method'>): void {
    const methods = typeof method === 'string' ? [method] : method
    if (methods.length === EVERY_METHOD.length) return
    this.#routes.set(url, new Set([...(this.#routes.get(url) ?? []), ...methods]))
  }

  /**
   * @param info null: the caller is not authenticated, so the methods of single paths are not
   * revealed
   * @param unrouted the target as sent, if no route has its path
   */
  refusal(info: RequestInfo | null, unrouted = ''): ApiError {
    // The router does not decode slashes: with an encoded one, a path only looks like a served one.
    if (info !== null && ENCODED_SLASH.test(unrouted)) return pathNotFound()
    const methods = info === null ? METHODS : this.#methodsAt(info)
    return methods === null ? pathNotFound() : methodNotAllowed(methods)
  }

  #methodsAt(info: RequestInfo): readonly string[] | null {
    const { path } = info
    // It was authorized like the path with a single slash, but no served path begins with two.
    if (path.startsWith('//')) return null
    if (info.action.kind === 'resource') return this.#dependencies.resourceMethods(info)
    if (/^\/apis?(?:\/|$)/.test(path)) {
      const document = path.replace(/\/$/, '')
      return !document.endsWith('/') && this.#dependencies.isDiscovery(document) ? ['GET', 'HEAD'] : null
    }
    for (const [url, methods] of this.#routes) if (isAt(url, path)) return [...methods]
    return null
  }
}

const ENCODED_SLASH = /^[^?]*%2f/i

/** Each of these is supported by some path. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']

/** @param url as routes are written: `:name` is a segment, `*` the rest */
function isAt(url: string, path: string): boolean {
  const wanted = url.split('/')
  const parts = path.split('/')
  const open = wanted.at(-1) === '*'
  if (open ? parts.length < wanted.length : parts.length !== wanted.length) return false
  return wanted.every((part, at) => {
    const given = parts[at] ?? ''
    return part === given || ((part.startsWith(':') || part === '*') && given !== '')
  })
}
