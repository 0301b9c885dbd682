import { failoverFaults, workloads } from './load.ts'
import type { HttpVersion, Load, Place, ReadMode, Workload } from './load.ts'

/** What of all that can be measured is wanted. */
export type Selection = {
  readonly workloads: readonly Workload[]
  /** What gets, lists, creates and updates are asked in; the others are asked in HTTP/1.1. */
  readonly http: readonly HttpVersion[]
  /** Clients that ask at once, of gets, creates and updates. */
  readonly clients: readonly number[]
  /** Bytes of an object's payload. */
  readonly sizes: readonly number[]
  /** Objects of the collections that are listed. */
  readonly lists: readonly number[]
  /** Objects of a page. */
  readonly page: number
  /** Watchers, the slow ones included. */
  readonly watchers: readonly number[]
  /** Ms; gets are asked for with the first, staleness is looked at with each. */
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

/** What the endpoints turned out to be. */
export type Possible = {
  /** In the order in which they are compared. */
  readonly modes: readonly ('linearizable' | 'lease' | 'bounded' | 'any' | 'log')[]
  /** Of those wanted, what the endpoints speak. */
  readonly http: readonly HttpVersion[]
  /** Both a leader and a follower are known among them. */
  readonly hasRoles: boolean
  /** The leader can be harmed and comes back. */
  readonly canFail: boolean
}

/** One in ten watchers reads slowly where slow ones are measured. */
const slowShare = 0.1
const stalenessClients = 4

/** What is measured in each round, in this order. What changes members comes last. */
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
    for (const kind of ['create', 'update'] as const) {
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
  kind: 'create' | 'update',
  selection: Selection,
  possible: Possible,
  http: HttpVersion,
): readonly Load[] {
  const { sizes, clients } = selection
  const places: readonly Place[] = possible.hasRoles ? ['leader', 'all'] : ['all']
  return sizes.flatMap((objectBytes) =>
    clients.flatMap((count) =>
      // A lone client is at one endpoint anyway.
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
    // What many hold at once of 50,000 objects is memory, not speed.
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

/** So that what is delivered in a second stays in bounds: the more watch, the fewer events. */
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

/** What it takes beside the time that loads run: connections, objects, members that come back. A guess, in ms. */
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
      case 'list':
      case 'staleness':
        return options.secondsEach * 1000 + 400
    }
  })
  const listed = new Set(plan.map((load) => (load.kind === 'list' ? load.objects : 0)))
  const filled = [...listed].reduce((sum, count) => sum + count, 0)
  return options.rounds * each.reduce((sum, ms) => sum + ms, 0) + filled * 0.7
}
