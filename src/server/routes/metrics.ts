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
      const text = await metricsText(registry)
      reply.hijack()
      const call = callOf(request)
      const headers = baseHeaders(call, registry.contentType)
      sendBytes(reply.raw, call, request.method, 200, headers, Buffer.from(text))
    },
  })
}

/**
 * Formats one metric per turn: all of them in one turn would block the thread of the API for too
 * long.
 */
export async function metricsText(registry: Registry): Promise<string> {
  const texts: string[] = []
  for (const { name } of registry.getMetricsAsArray()) {
    texts.push(await registry.getSingleMetricAsString(name))
    await new Promise(setImmediate)
  }
  return `${texts.join('\n\n')}\n`
}
