import { pathNotFound } from '../../api/errors/standard-errors.ts'
import { negotiate } from '../../api/media-type.ts'
import type { Registry } from '../../registry/calls/verb.ts'
import { callOf } from '../calls/fastify-types.ts'
import type { App } from '../calls/fastify-types.ts'
import { sendDocument } from '../responses/static-document.ts'
import { JSON_TYPE } from '../responses/wire.ts'
import { sendJsonDocument } from '../responses/json-reply.ts'
import type { OpenApiDocuments } from '../openapi/documents.ts'

const PROTOBUF_TYPE = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf'

const V2_SERVED = [
  { type: JSON_TYPE, parameters: { charset: ['utf-8'] } },
  // The type that clients accept; they reject a response of that type, because `@` is not allowed
  // in one.
  { type: 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf' },
  { type: PROTOBUF_TYPE },
] as const

/**
 * Serves `/openapi/v2` and `/openapi/v3`.
 * @param catalogSync waits for recent definitions before a 404
 */
export function openApiRoutes(
  app: App,
  documents: OpenApiDocuments,
  catalogSync: Registry['catalogSync'],
): void {
  app.route({
    method: ['GET', 'HEAD'],
    url: '/openapi/v2',
    handler: async (request, reply) => {
      const { type } = negotiate(request.raw.headers.accept ?? '', V2_SERVED)
      if (type === JSON_TYPE) sendDocument(request, reply, await documents.v2(), JSON_TYPE)
      else sendDocument(request, reply, await documents.v2Protobuf(), PROTOBUF_TYPE)
    },
  })
  const { v3 } = documents
  if (v3 === null) return
  app.route({
    method: ['GET', 'HEAD'],
    url: '/openapi/v3',
    handler: async (request, reply) => sendJsonDocument(request, reply, await v3.index()),
  })
  app.route({
    method: ['GET', 'HEAD'],
    url: '/openapi/v3/*',
    handler: async (request, reply) => {
      const { info, deadlineMs } = callOf(request)
      const path = info.path.slice('/openapi/v3/'.length)
      let document = v3.document(path)
      if (document === null && catalogSync !== null && path.startsWith('apis/')) {
        await catalogSync.waitUntilCurrent(deadlineMs)
        document = v3.document(path)
      }
      if (document === null) throw pathNotFound()
      sendJsonDocument(request, reply, document)
    },
  })
}
