import type { Clock } from '../../../base/clock.ts'
import type { Random } from '../../../base/random.ts'
import { ApiError } from '../../api/errors/api-error.ts'
import type { Backend, Backends } from '../../backends/backends.ts'
import type { ConnectHandler, VerbRequest } from '../../registry/calls/verb.ts'
import type { ConnectSubresource } from '../../registry/kinds/definition.ts'
import type { Call } from '../calls/call.ts'
import type { Reply, Request } from '../calls/fastify-types.ts'
import type { RawRequest } from '../http/raw-http.ts'
import type { ErrorParts } from '../responses/error-reply.ts'
import type { WebSocketUpgrade } from '../responses/websocket-watch.ts'

export type ConnectDependencies = ErrorParts & {
  readonly backends: Backends
  readonly connect: ConnectHandler
  readonly clock: Clock
  /** The domain of the subprotocol that carries a bearer token. */
  readonly domain: string
  /** Prefixes, in lower case, of the headers in which an authenticating proxy names users. */
  readonly userHeaders: readonly string[]
  readonly random: Random
  /** Returns the connection of a request with `Upgrade`, or null. */
  readonly upgradeOf: (raw: RawRequest) => WebSocketUpgrade | null
}

/** One request to a subresource that connects. */
export type Connection = {
  readonly call: Call
  readonly request: Request
  readonly reply: Reply
  readonly subresource: ConnectSubresource
  readonly verbRequest: VerbRequest
  /** The name in the path, and the namespace; null: a cluster-scoped kind. */
  readonly name: string
  readonly namespace: string | null
}

/** Returns the error for a failure of another server: code 500 and no reason, like upstream. */
export function backendError(message: string): ApiError {
  return new ApiError('InternalError', message, { chosen: { code: 500, reason: '' } })
}

/** Returns host and port as they are in a Host header and in a URL. */
export function authorityOf({ host, port }: Backend): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

/** Returns a path on a node agent. */
export function agentPath(parts: readonly string[], query: URLSearchParams): string {
  query.sort()
  const path = parts.map((part) => `/${encodeURIComponent(part)}`).join('')
  return query.size === 0 ? path : `${path}?${query.toString()}`
}

export const OWN_USER_AGENT = 'orch-apiserver'
