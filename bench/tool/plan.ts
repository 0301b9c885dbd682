import { failoverFaults, workloads, writeWorkloads } from './load.ts'
import type { HttpVersion, Load, Place, ReadMode, Workload, WriteWorkload } from './load.ts'

/** The selected loads and their parameters. */
export type Selection = {
  readonly workloads: readonly Workload[]
  /** HTTP versions of livez, gets, lists and writes; all others use HTTP/1.1. */
  readonly http: readonly HttpVersion[]
  /** Numbers of concurrent clients for livez, gets and writes. */
  readonly clients: readonly number[]
  /** Payload sizes in bytes. */
  readonly sizes: readonly number[]
  /** Sizes of the listed collections. */
  readonly lists: readonly number[]
  /** Objects per page. */
  readonly page: number
  /** Numbers of watchers, including slow ones. */
  readonly watchers: readonly number[]
  /** Bounds in ms; gets use the first one, staleness uses all. */
  readonly bounds: readonly number[]
}

export const wholeSelection: Selection = Object.freeze({
  workloads,
  http: ['1.1'],
  clients: [1, 64, 256],
  sizes: [1000, 16_000],
  lists: [10, 1000, 10_000, 50_000],
  page: 500,
  watchers: [100, 1000, 10_000],
  bounds: [100, 10, 1000],
} satisfies Selection)

export const quickSelection: Selection = Object.freeze({
  ...wholeSelection,
  clients: [1, 64],
  sizes: [1000],
  lists: [10, 1000],
  watchers: [100],
  bounds: [100],
})

/** Capabilities of the endpoints. */
export type Possible = {
  /** Read modes, in the order in which they are measured. */
  readonly modes: readonly ('linearizable' | 'lease' | 'bounded' | 'any' | 'log')[]
  /** The selected HTTP versions that the endpoints support. */
  readonly http: readonly HttpVersion[]
  /** Both a leader and a follower are known. */
  readonly hasRoles: boolean
  /** Faults can be injected into the leader. */
  readonly canFail: boolean
}

/** Share of slow readers where they are measured. */
const slowShare = 0.1
const stalenessClients = 4

/** Returns the loads of one round in order. Those that change the leader come last. */
export function planOf(selection: Selection, possible: Possible): readonly Load[] {
  const wanted = new Set(selection.workloads)
  const both: readonly Place[] = possible.hasRoles ? ['leader', 'follower'] : ['all']
  const loads: Load[] = []
  for (const http of possible.http) {
    if (wanted.has('livez')) {
      loads.push(
        ...selection.clients.map((clients): Load => ({ kind: 'livez', place: 'all', clients, http })),
      )
    }
    if (wanted.has('get')) loads.push(...gets(selection, possible, { places: both, http }))
    for (const kind of writeWorkloads) {
      if (wanted.has(kind)) loads.push(...writes(kind, selection, possible, http))
    }
    if (wanted.has('list')) loads.push(...lists(selection, possible, http))
  }
  if (!possible.http.includes('1.1')) return loads
  if (wanted.has('watch')) loads.push(...watches(selection, possible))
  if (wanted.has('staleness')) loads.push(...staleness(selection, possible))
  if (wanted.has('failover') && possible.canFail) {
    loads.push(...failoverFaults.map((fault): Load => ({ kind: 'failover', fault })))
  }
  return loads
}

function gets(
  selection: Selection,
  possible: Possible,
  { places, http }: { readonly places: readonly Place[]; readonly http: HttpVersion },
): readonly Load[] {
  const { sizes, clients, bounds } = selection
  const modes = possible.modes.map((mode): ReadMode =>
    mode === 'bounded' ? `bounded=${bounds[0] ?? 0}` : mode,
  )
  return sizes.flatMap((objectBytes) =>
    clients.flatMap((count) =>
      modes.flatMap((mode) =>
        places.map((place): Load => ({ kind: 'get', mode, place, objectBytes, clients: count, http })),
      ),
    ),
  )
}

function writes(
  kind: WriteWorkload,
  selection: Selection,
  possible: Possible,
  http: HttpVersion,
): readonly Load[] {
  const { sizes, clients } = selection
  const places: readonly Place[] = possible.hasRoles ? ['leader', 'all'] : ['all']
  return sizes.flatMap((objectBytes) =>
    clients.flatMap((count) =>
      // A single client uses one endpoint anyway.
      (count === 1 ? places.slice(0, 1) : places).map((place): Load => ({
        kind,
        place,
        objectBytes,
        clients: count,
        http,
      })),
    ),
  )
}

function lists(selection: Selection, possible: Possible, http: HttpVersion): readonly Load[] {
  const place: Place = possible.hasRoles ? 'follower' : 'all'
  const modes = possible.modes.filter((mode) => mode === 'linearizable' || mode === 'any')
  return selection.lists.flatMap((objects) => {
    // Many concurrent lists of 50,000 objects would measure memory, not speed.
    const clients = objects <= 1000 ? 8 : 2
    const pages = objects > selection.page ? [null, selection.page] : [null]
    return pages.flatMap((page) =>
      modes.map((mode): Load => ({ kind: 'list', mode, place, objects, page, clients, http })),
    )
  })
}

function watches(selection: Selection, possible: Possible): readonly Load[] {
  const place: Place = possible.hasRoles ? 'follower' : 'all'
  return selection.watchers.flatMap((watchers) => {
    const slow = Math.floor(watchers * slowShare)
    const perSecond = eventsPerSecond(watchers)
    const alone: Load = { kind: 'watch', place, fast: watchers, slow: 0, perSecond }
    return slow === 0 ? [alone] : [alone, { ...alone, fast: watchers - slow, slow }]
  })
}

/** Fewer events for more watchers: the deliveries per second grow more slowly than the watchers. */
function eventsPerSecond(watchers: number): number {
  if (watchers <= 100) return 100
  return watchers <= 1000 ? 20 : 10
}

function staleness(selection: Selection, possible: Possible): readonly Load[] {
  const place: Place = possible.hasRoles ? 'follower' : 'all'
  const modes = possible.modes.flatMap((mode): readonly ReadMode[] =>
    mode === 'bounded' ? selection.bounds.map((ms): ReadMode => `bounded=${ms}`) : [mode],
  )
  return modes.map((mode) => ({ kind: 'staleness', mode, place, clients: stalenessClients }))
}

/**
 * Estimates the duration of the plan in ms, including connecting, creating objects and restarting
 * members.
 */
export function guessMs(
  plan: readonly Load[],
  options: { readonly secondsEach: number; readonly rounds: number },
): number {
  const each = plan.map((load) => {
    switch (load.kind) {
      case 'watch':
        return options.secondsEach * 1000 + 2000 + (load.fast + load.slow) * 4
      case 'failover':
        return 12_000
      case 'livez':
      case 'get':
      case 'create':
      case 'update':
      case 'patch':
      case 'apply':
      case 'list':
      case 'staleness':
        return options.secondsEach * 1000 + 400
    }
  })
  const listed = new Set(plan.map((load) => (load.kind === 'list' ? load.objects : 0)))
  const filled = [...listed].reduce((sum, count) => sum + count, 0)
  return options.rounds * each.reduce((sum, ms) => sum + ms, 0) + filled * 0.7
}
