import type { Call } from '../calls/call.ts'
import type { KindSeries } from './kind-series.ts'
import type { Query } from '../http/query.ts'

/** The labels of the metrics of requests, except `code`. */
export type RequestLabels = {
  readonly verb: string
  readonly dry_run: string
  readonly group: string
  readonly version: string
  readonly resource: string
  readonly subresource: string
  readonly scope: string
  readonly component: string
}

/**
 * Returns the labels under which a call is counted. Each label has a bounded set of values, so that
 * clients cannot create series: unknown resources are counted together, without a name.
 *
 * @source apiserver `pkg/endpoints/metrics/metrics.go` of 1.24: a deleted collection is a `DELETE`
 * with the scope of a collection, `HEAD` counts as the read that it stands for, and connections to
 * other servers are `CONNECT`
 */
export function labelsOf({ info, raw }: Call, series: Pick<KindSeries, 'has'>): RequestLabels {
  const { action } = info
  if (action.kind === 'path') {
    const verb = pathVerbs.get(action.verb) ?? 'other'
    const subresource = healthPaths.has(action.path) ? action.path : ''
    return { ...nothing, verb, subresource }
  }
  const verb = info.connects ? 'CONNECT' : verbOf(action.verb, raw.headers['content-type'])
  const { group, version, resource } = action
  if (!series.has(group, version, resource)) return withoutResource(verb)
  return {
    verb,
    dry_run: isRead(verb) ? '' : dryRunOf(info.query),
    group,
    version,
    resource,
    subresource: knownSubresources.has(action.subresource) ? action.subresource : '',
    scope: scopeOf(action),
    component,
  }
}

/** Returns the labels of requests to resources without a series, which are counted together. */
export function withoutResource(verb: string): RequestLabels {
  return { ...nothing, verb }
}

/** Whether a verb of `labelsOf` is a read that ends. */
export function isSizedRead(verb: string): boolean {
  return verb === 'GET' || verb === 'LIST'
}

/** Whether requests with a verb of `labelsOf` may last for long. */
export function isLong(verb: string): boolean {
  return verb === 'WATCH' || verb === 'CONNECT'
}

const component = 'apiserver'
const nothing: RequestLabels = {
  verb: '',
  dry_run: '',
  group: '',
  version: '',
  resource: '',
  subresource: '',
  scope: '',
  component,
}

/** Whether a verb is a read or a connection, for which `dryRun` has no meaning. */
function isRead(verb: string): boolean {
  return isSizedRead(verb) || isLong(verb)
}

function verbOf(verb: string, contentType: string | undefined): string {
  if (verb === 'patch' && contentType?.startsWith('application/apply-patch+yaml') === true) return 'APPLY'
  return resourceVerbs.get(verb) ?? 'other'
}

function dryRunOf(query: Query): string {
  const values = query.get('dryRun') ?? []
  if (values.some((value) => value !== '' && value !== 'All')) return 'invalid'
  return values.includes('All') ? 'All' : ''
}

function scopeOf({ verb, name, namespace }: { verb: string; name: string; namespace: string }): string {
  if (name !== '' || verb === 'create') return 'resource'
  return namespace === '' ? 'cluster' : 'namespace'
}

const resourceVerbs: ReadonlyMap<string, string> = new Map([
  ['get', 'GET'],
  ['list', 'LIST'],
  ['watch', 'WATCH'],
  ['create', 'POST'],
  ['update', 'PUT'],
  ['patch', 'PATCH'],
  ['delete', 'DELETE'],
  ['deletecollection', 'DELETE'],
])

const pathVerbs: ReadonlyMap<string, string> = new Map([
  ['get', 'GET'],
  ['head', 'GET'],
  ['post', 'POST'],
  ['put', 'PUT'],
  ['patch', 'PATCH'],
  ['delete', 'DELETE'],
])

const healthPaths: ReadonlySet<string> = new Set(['/healthz', '/livez', '/readyz'])

const knownSubresources: ReadonlySet<string> = new Set(
  'status finalize scale approval binding eviction attach exec log portforward proxy'.split(' '),
)
