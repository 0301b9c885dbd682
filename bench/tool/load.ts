import { assertNever } from '../../base/assert.ts'

/**
 * Target of requests: the leader, one follower, or all endpoints, each of which gets an equal part
 * of the clients.
 */
export type Place = 'leader' | 'follower' | 'all'

export const workloads = [
  'livez',
  'get',
  'create',
  'update',
  'patch',
  'apply',
  'list',
  'watch',
  'staleness',
  'failover',
] as const
export type Workload = (typeof workloads)[number]

/** Writes of one object. `patch` is a merge patch, `apply` a server-side apply. */
export const writeWorkloads = ['create', 'update', 'patch', 'apply'] as const
export type WriteWorkload = (typeof writeWorkloads)[number]

/** Consistency mode of a read. `bounded` in ms. */
export type ReadMode = 'linearizable' | 'lease' | 'any' | 'log' | `bounded=${number}`

export const failoverFaults = ['kill', 'pause', 'stop'] as const
export type FailoverFault = (typeof failoverFaults)[number]

export const httpVersions = ['1.1', '2'] as const
export type HttpVersion = (typeof httpVersions)[number]

/** One measured load. */
export type Load =
  /** A trivial request, which measures the generator itself. */
  | { readonly kind: 'livez'; readonly place: Place; readonly clients: number; readonly http: HttpVersion }
  | {
      readonly kind: 'get'
      readonly mode: ReadMode
      readonly place: Place
      readonly objectBytes: number
      readonly clients: number
      readonly http: HttpVersion
    }
  | {
      readonly kind: WriteWorkload
      readonly place: Place
      readonly objectBytes: number
      readonly clients: number
      readonly http: HttpVersion
    }
  | {
      readonly kind: 'list'
      readonly mode: ReadMode
      readonly place: Place
      readonly objects: number
      /** Objects per page; null: the list is not paged. */
      readonly page: number | null
      readonly clients: number
      readonly http: HttpVersion
    }
  | {
      readonly kind: 'watch'
      readonly place: Place
      readonly fast: number
      readonly slow: number
      readonly perSecond: number
    }
  | {
      readonly kind: 'staleness'
      readonly mode: ReadMode
      readonly place: Place
      readonly clients: number
    }
  | { readonly kind: 'failover'; readonly fault: FailoverFault }

/** Returns the label by which loads of several runs are compared. */
export function labelOf(load: Load): string {
  switch (load.kind) {
    case 'livez':
      return `livez, ${placeWords(load.place)}, ${callersText(load)}`
    case 'get':
      return `get, ${load.mode}, ${placeWords(load.place)}, ${sizeText(load.objectBytes)}, ${callersText(load)}`
    case 'create':
    case 'update':
    case 'patch':
    case 'apply':
      return `${load.kind}, ${placeWords(load.place)}, ${sizeText(load.objectBytes)}, ${callersText(load)}`
    case 'list': {
      const pages = load.page === null ? '' : ` in pages of ${load.page}`
      return `list ${load.objects}${pages}, ${load.mode}, ${placeWords(load.place)}, ${callersText(load)}`
    }
    case 'watch': {
      const slow = load.slow === 0 ? '' : ` and ${load.slow} slow ones`
      return `watch, ${load.fast} readers${slow}, ${placeWords(load.place)}, ${load.perSecond} events/s`
    }
    case 'staleness':
      return `staleness, ${load.mode}, ${placeWords(load.place)}, ${clientsText(load.clients)}`
    case 'failover':
      return `leader ${faultWords[load.fault]}`
    default:
      return assertNever(load)
  }
}

const faultWords: Readonly<Record<FailoverFault, string>> = {
  kill: 'killed (-9)',
  pause: 'paused (SIGSTOP)',
  stop: 'stopped (SIGTERM)',
}

export function placeWords(place: Place): string {
  switch (place) {
    case 'leader':
      return 'the leader'
    case 'follower':
      return 'a follower'
    case 'all':
      return 'all members'
    default:
      return assertNever(place)
  }
}

export function clientsText(count: number): string {
  return count === 1 ? '1 client' : `${count} clients`
}

/** Returns a text such as `64 clients`, with the HTTP version unless it is the default. */
export function callersText(load: { readonly clients: number; readonly http: HttpVersion }): string {
  return `${clientsText(load.clients)}${load.http === '2' ? ', HTTP/2' : ''}`
}

/** Formats the payload size of an object; `1 KB` is 1000 bytes. */
export function sizeText(bytes: number): string {
  return bytes % 1000 === 0 ? `${bytes / 1000} KB` : `${bytes} B`
}
