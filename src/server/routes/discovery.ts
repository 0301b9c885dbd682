import { pathNotFound } from '../../api/errors/standard-errors.ts'
import { ENCODINGS_SERVED, negotiate } from '../../api/media-type.ts'
import type { Served } from '../../api/media-type.ts'
import { namesOf } from '../../api/metadata/names.ts'
import type { Registry } from '../../registry/calls/verb.ts'
import { AGGREGATED_KIND } from '../discovery/aggregated.ts'
import type { Discovery } from '../discovery/discovery.ts'
import { callOf } from '../calls/fastify-types.ts'
import type { App } from '../calls/fastify-types.ts'
import { sendDocument } from '../responses/static-document.ts'
import { sendDiscoveryDocument } from './discovery-document.ts'

type DiscoveryDependencies = {
  readonly discovery: Discovery
  readonly catalogSync: Registry['catalogSync']
}

/** Serves the groups, versions and resources: `/api`, `/apis` and below. */
export function discoveryRoutes(app: App, { discovery, catalogSync }: DiscoveryDependencies): void {
  for (const url of ['/api', '/api/', '/api/:version', '/api/:version/', '/apis', '/apis/']) serve(app, url)
  for (const url of ['/apis/:group', '/apis/:group/', '/apis/:group/:version', '/apis/:group/:version/']) {
    serve(app, url)
  }

  function serve(scope: App, url: string): void {
    scope.route({
      method: ['GET', 'HEAD'],
      url,
      handler: async (request, reply) => {
        const call = callOf(request)
        const path = call.info.path.replace(/\/+$/, '')
        if (isRoot(path)) {
          const { aggregated } = negotiate(request.raw.headers.accept ?? '', SERVED_AT_ROOTS)
          if (aggregated !== undefined) {
            const { apiVersion, contentType } = aggregated
            sendDocument(request, reply, discovery.aggregated(path, apiVersion), contentType)
            return
          }
        }
        let document = discovery.plain(path)
        if (document === null && catalogSync !== null && path.startsWith('/apis/')) {
          // The definition of a custom kind may have been acknowledged but not applied here.
          await catalogSync.waitUntilCurrent(call.deadlineMs)
          document = discovery.plain(path)
        }
        if (document === null) throw pathNotFound()
        sendDiscoveryDocument(request, reply, document)
      },
    })
  }
}

type Root = '/api' | '/apis'

function isRoot(path: string): path is Root {
  return path === '/api' || path === '/apis'
}

type ServedAtRoots = Served & {
  /** Unset: the plain document. */
  readonly aggregated?: { readonly apiVersion: string; readonly contentType: string }
}

/**
 * The aggregated documents are offered under the names of both domains, because clients always use
 * their own.
 */
const SERVED_AT_ROOTS: readonly ServedAtRoots[] = [
  ...ENCODINGS_SERVED,
  ...(['orch.io', 'k8s.io'] as const).flatMap((domain) =>
    ['v2', 'v2beta1'].map((v) => {
      const g = namesOf(domain).group('apidiscovery')
      return {
        type: 'application/json',
        parameters: { charset: ['utf-8', 'utf8'] },
        required: { as: AGGREGATED_KIND, g, v },
        aggregated: {
          apiVersion: `${g}/${v}`,
          contentType: `application/json;g=${g};v=${v};as=${AGGREGATED_KIND}`,
        },
      }
    }),
  ),
]
