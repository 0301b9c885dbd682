import type { Registry } from 'prom-client'
import { callOf } from '../calls/fastify-types.ts'
import type { App } from '../calls/fastify-types.ts'
import { baseHeaders, sendBytes } from '../responses/wire.ts'

/** Serves `/metrics` in the text format of Prometheus. */
export function metricsRoutes(app: App, registry: Registry): void {
  app.route({
    method: ['GET', 'HEAD'],
    url: '/metrics',
    handler: async (request, reply) => {
      const text = await registry.metrics()
      reply.hijack()
      const call = callOf(request)
      const headers = baseHeaders(call, registry.contentType)
      sendBytes(reply.raw, call, request.method, 200, headers, Buffer.from(text))
    },
  })
}
