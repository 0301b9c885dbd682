import { pathNotFound } from '../../api/api-errors.ts'
import { ENCODINGS_SERVED, negotiate } from '../../api/media-type.ts'
import type { Served } from '../../api/media-type.ts'
import { namesOf } from '../../api/names.ts'
import type { Names } from '../../api/names.ts'
import type { Catalog } from '../../registry/catalog.ts'
import { AGGREGATED_KIND, aggregatedDocument } from '../discovery/aggregated.ts'
import { discoveredGroups } from '../discovery/groups.ts'
import { plainDocuments } from '../discovery/plain.ts'
import { callOf } from '../fastify-types.ts'
import type { App } from '../fastify-types.ts'
import { contentHash } from '../openapi/content-hash.ts'
import { sendDocument } from '../static-document.ts'
import type { StaticDocument } from '../static-document.ts'
import { sendDiscoveryDocument } from './discovery-document.ts'
import { jsonBytes } from './json.ts'

/** Which groups, versions and resources there are: `/api`, `/apis` and below. Each document is built once. */
export function discoveryRoutes(app: App, discovery: Discovery): void {
  for (const url of ['/api', '/api/', '/api/:version', '/api/:version/', '/apis', '/apis/']) serve(app, url)
  for (const url of ['/apis/:group', '/apis/:group/', '/apis/:group/:version', '/apis/:group/:version/']) {
    serve(app, url)
  }

  function serve(scope: App, url: string): void {
    scope.route({
      method: ['GET', 'HEAD'],
      url,
      handler: (request, reply) => {
        const path = callOf(request).info.action.path.replace(/\/+$/, '')
        if (isRoot(path)) {
          const { aggregated } = negotiate(request.raw.headers.accept ?? '', SERVED_AT_ROOTS)
          if (aggregated !== undefined) {
            const { apiVersion, contentType } = aggregated
            sendDocument(request, reply, discovery.aggregated(path, apiVersion), contentType)
            return
          }
        }
        const document = discovery.plain.get(path)
        if (document === undefined) throw pathNotFound()
        sendDiscoveryDocument(request, reply, document)
      },
    })
  }
}

type Root = '/api' | '/apis'

function isRoot(path: string): path is Root {
  return path === '/api' || path === '/apis'
}

export class Discovery {
  /** By path, without a slash at the end. */
  readonly plain: ReadonlyMap<string, StaticDocument>
  readonly #groups: ReturnType<typeof discoveredGroups>
  /** One for each root and name that `SERVED_AT_ROOTS` knows. */
  readonly #aggregated = new Map<string, StaticDocument>()

  constructor(catalog: Catalog, names: Names) {
    this.#groups = discoveredGroups(catalog.all(), names.groupStem)
    this.plain = new Map(
      [...plainDocuments(this.#groups)].map(([path, value]) => [path, documentOf(value)] as const),
    )
  }

  /** @param apiVersion of `SERVED_AT_ROOTS` */
  aggregated(root: Root, apiVersion: string): StaticDocument {
    const key = `${root} ${apiVersion}`
    let document = this.#aggregated.get(key)
    if (document === undefined) {
      const groups = this.#groups.filter(({ name }) => (name === '') === (root === '/api'))
      document = documentOf(aggregatedDocument(groups, apiVersion))
      this.#aggregated.set(key, document)
    }
    return document
  }
}

function documentOf(value: object): StaticDocument {
  const bytes = jsonBytes(value)
  return { bytes, etag: `"${contentHash(bytes)}"` }
}

type ServedAtRoots = Served & {
  /** Unset: the plain document. */
  readonly aggregated?: { readonly apiVersion: string; readonly contentType: string }
}

/** By either domain's name, whosever the cluster speaks: clients have theirs built in. */
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
