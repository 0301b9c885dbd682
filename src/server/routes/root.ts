import type { App } from '../calls/fastify-types.ts'
import { jsonBytes, sendJson } from '../responses/json-reply.ts'

/**
 * Serves `/`, the list of paths.
 * @param paths without `/` itself
 */
export function rootRoutes(app: App, paths: () => readonly string[]): void {
  app.route({
    method: ['GET', 'HEAD'],
    url: '/',
    handler: (request, reply) =>
      sendJson(request, reply, jsonBytes({ paths: [...new Set(paths())].toSorted() })),
  })
}
