import { fastify } from 'fastify'
import type {
  FastifyHttpOptions,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  RawServerBase,
  RouteGenericInterface,
} from 'fastify'
import { assert, present } from '../../../base/assert.ts'
import type { Server } from 'node:http'
import type { Call } from './call.ts'
import type { RawServer, RawHandler } from '../http/raw-http.ts'

/** A fastify instance over either protocol. */
export type App = FastifyInstance<RawServerBase>
export type Request = FastifyRequest<RouteGenericInterface, RawServerBase>
export type Reply = FastifyReply<RouteGenericInterface, RawServerBase>

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the first hook; absent for requests that fail before any hook runs. */
    call: Call | null | undefined
  }
}

/**
 * Creates a fastify instance on the server that `makeServer` returns. Fastify's declarations
 * support one protocol at a time, hence the casts; at run time each request is of one of them. No
 * route has a schema for fastify: without its schema compilers, two hundred modules are not loaded
 * at the start.
 */
export function appOn(
  makeServer: (handler: RawHandler) => RawServer,
  options: Omit<FastifyHttpOptions<Server>, 'serverFactory'>,
): App {
  const app: unknown = fastify({
    ...options,
    schemaController: { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } },
    serverFactory: (handler) => makeServer(handler as RawHandler) as Server,
  })
  return app as App
}

function noSchemas(): never {
  assert(false, 'a route with a schema needs a compiler for it')
}

export function callOf(request: Request): Call {
  return present(request.call, 'the first hook made the call')
}

/** All methods of the router, for routes that check the method themselves. */
export const EVERY_METHOD = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']
