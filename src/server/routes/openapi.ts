import { pathNotFound } from '../../api/api-errors.ts'
import { negotiate } from '../../api/media-type.ts'
import { mustAcceptJson } from '../accept.ts'
import { callOf } from '../fastify-types.ts'
import type { App, Reply, Request } from '../fastify-types.ts'
import { JSON_TYPE, baseHeaders, sendBytes } from '../wire.ts'
import { sendJson } from './json.ts'

/** The documents, each built on first use and kept. */
export type OpenApiDocuments = {
  /** `/openapi/v2` as JSON. */
  readonly v2: () => OpenApiDocument
  /** The same as the protobuf message of gnostic. */
  readonly v2Protobuf: () => OpenApiDocument
  /** `/openapi/v3`: which documents there are. */
  readonly v3Index: () => OpenApiDocument
  /** @param path such as `api/v1` or `apis/apps/v1`. @returns null when there is none */
  readonly v3: (path: string) => OpenApiDocument | null
}

export type OpenApiDocument = {
  readonly bytes: Uint8Array
  /** Quoted; another one when the bytes differ. */
  readonly etag: string
}

const PROTOBUF_TYPE = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf'

const V2_SERVED = [
  { type: JSON_TYPE, parameters: { charset: ['utf-8'] } },
  // What clients ask with; they refuse an answer of that type, because `@` is no part of one.
  { type: 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf' },
  { type: PROTOBUF_TYPE },
] as const

/** `/openapi/v2` and `/openapi/v3`. */
export function openApiRoutes(app: App, documents: OpenApiDocuments): void {
  app.route({
    method: ['GET', 'HEAD'],
    url: '/openapi/v2',
    handler: (request, reply) => {
      const { type } = negotiate(request.raw.headers.accept ?? '', V2_SERVED)
      if (type === JSON_TYPE) send(request, reply, documents.v2(), JSON_TYPE)
      else send(request, reply, documents.v2Protobuf(), PROTOBUF_TYPE)
    },
  })
  app.route({
    method: ['GET', 'HEAD'],
    url: '/openapi/v3',
    handler: (request, reply) => sendJson(request, reply, documents.v3Index().bytes),
  })
  app.route({
    method: ['GET', 'HEAD'],
    url: '/openapi/v3/*',
    handler: (request, reply) => {
      const document = documents.v3(callOf(request).info.action.path.slice('/openapi/v3/'.length))
      if (document === null) throw pathNotFound()
      mustAcceptJson(request.raw.headers.accept)
      send(request, reply, document, JSON_TYPE)
    },
  })
}

function send(request: Request, reply: Reply, document: OpenApiDocument, type: string): void {
  const { headers } = request.raw
  const call = callOf(request)
  const answer = baseHeaders(call, type)
  // A client may keep what it has, but asks each time whether it is still so.
  answer['cache-control'] = 'no-cache, private'
  answer['etag'] = document.etag
  answer['vary'] = 'Accept'
  reply.hijack()
  const same = (headers['if-none-match'] ?? '').split(',').some((tag) => tag.trim() === document.etag)
  if (same) sendBytes(reply.raw, call, 'HEAD', 304, answer, NOTHING)
  else sendBytes(reply.raw, call, request.method, 200, answer, document.bytes)
}

const NOTHING = new Uint8Array(0)
