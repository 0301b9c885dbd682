import type { App } from '../fastify-types.ts'
import { jsonBytes, sendJson } from './json.ts'

/** `/`: the paths there are. @param paths without `/` itself */
export function rootRoutes(app: App, paths: readonly string[]): void {
  const bytes = jsonBytes({ paths: [...new Set(paths)].toSorted() })
  app.route({
    method: ['GET', 'HEAD'],
    url: '/',
    handler: (request, reply) => sendJson(request, reply, bytes),
  })
}
