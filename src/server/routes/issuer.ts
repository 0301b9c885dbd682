import { KEY_SET_PATH } from '../../auth/service-accounts/issuer-documents.ts'
import type { IssuerDocuments } from '../../auth/service-accounts/issuer-documents.ts'
import { callOf } from '../calls/fastify-types.ts'
import type { App, Reply, Request } from '../calls/fastify-types.ts'
import { jsonBytes } from '../responses/json-reply.ts'
import { JSON_TYPE, baseHeaders, sendBytes } from '../responses/wire.ts'

export const ISSUER_PATHS = ['/.well-known/openid-configuration', KEY_SET_PATH] as const

/**
 * Serves the documents by which other programs verify service account tokens.
 *
 * @source core `pkg/routes/openidmetadata.go`
 */
export function issuerRoutes(app: App, documents: IssuerDocuments | null): void {
  if (documents === null) return
  const [configurationPath, keySetPath] = ISSUER_PATHS
  app.route({
    method: ['GET', 'HEAD'],
    url: configurationPath,
    handler: (request, reply) => send(request, reply, JSON_TYPE, jsonBytes(documents.configuration())),
  })
  app.route({
    method: ['GET', 'HEAD'],
    url: keySetPath,
    handler: (request, reply) =>
      send(request, reply, 'application/jwk-set+json', jsonBytes(documents.keySet())),
  })
}

function send(request: Request, reply: Reply, type: string, bytes: Uint8Array): void {
  const call = callOf(request)
  reply.hijack()
  const headers = { ...baseHeaders(call, type), 'cache-control': 'public, max-age=3600' }
  sendBytes(reply.raw, call, request.method, 200, headers, bytes)
}
