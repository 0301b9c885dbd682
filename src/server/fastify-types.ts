import { fastify } from 'fastify'
import type {
  FastifyHttpOptions,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  RawServerBase,
  RouteGenericInterface,
} from 'fastify'
import { assert, present } from '../../base/assert.ts'
import type { Server } from 'node:http'
import type { Call } from './call.ts'
import type { RawServer, RawHandler } from './raw-http.ts'

/** Fastify over either protocol. */
export type App = FastifyInstance<RawServerBase>
export type Request = FastifyRequest<RouteGenericInterface, RawServerBase>
export type Reply = FastifyReply<RouteGenericInterface, RawServerBase>

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the first hook; absent for what fails before any hook runs. */
    call: Call | null | undefined
  }
}

/**
 * Fastify on a server of our own making. Its declarations know one protocol at a time, hence the detour; what
 * runs asks each request which one it came with. No route has a schema for fastify to check or write by: without the
 * compilers for those, which it would load, two hundred modules of it are not read at a start.
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

/** All methods the router knows, for routes that judge the method themselves. */
export const EVERY_METHOD = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']
