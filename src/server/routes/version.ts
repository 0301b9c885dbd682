import type { App } from '../calls/fastify-types.ts'
import { jsonBytes, sendJson } from '../responses/json-reply.ts'
import type { BuildInfo } from '../../build-info.ts'

/**
 * Serves `/version`: the API version and the program.
 * @source spec 9.8; apimachinery `pkg/version`
 */
export function versionRoutes(app: App, version: BuildInfo): void {
  const bytes = jsonBytes(versionDocument(version))
  for (const url of ['/version', '/version/']) {
    app.route({
      method: ['GET', 'HEAD'],
      url,
      handler: (request, reply) => sendJson(request, reply, bytes),
    })
  }
}

/** Returns the content of `/version`. */
export function versionDocument(version: BuildInfo) {
  return {
    major: '1',
    minor: '24',
    gitVersion: `v1.24.0+orch-${version.program}`,
    gitCommit: version.gitCommit,
    gitTreeState: 'clean',
    buildDate: version.buildDate,
    // Clients expect the keys, although this is not a Go program.
    goVersion: version.runtime,
    compiler: 'node',
    platform: version.platform,
  }
}
