import assert from 'node:assert/strict'

/*
 * The table of spec 4.8.3 and 4.8.4: a row for each kind of request, a column for each requested
 * version, and the required answer in each cell, for any member.
 */

/** A server, with functions of any client library. */
export type QueriedServer = {
  readonly get: (path: string) => Promise<Got>
  /** All events until the stream ends by itself. */
  readonly watch: (path: string) => Promise<Watched>
}

/** The members of responses that the table checks. */
export type Doc = {
  readonly kind?: string
  readonly metadata?: {
    readonly name?: string
    readonly resourceVersion?: string
    readonly continue?: string
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly items?: readonly Doc[]
  readonly reason?: string
  readonly message?: string
  readonly details?: {
    readonly retryAfterSeconds?: number
    readonly causes?: readonly { readonly reason?: string }[]
  }
}

export type Got = { readonly status: number; readonly retryAfter: string | null; readonly doc: Doc }
export type Watched = Got & { readonly events: readonly { readonly type: string; readonly object: Doc }[] }

/** A whole response. */
export type Text = { readonly status: number; readonly retryAfter: string | null; readonly text: string }

export function gotOf({ status, retryAfter, text }: Text): Got {
  return { status, retryAfter, doc: JSON.parse(text) as Doc }
}

/** A rejected watch returns a `Status` instead of events. */
export function watchedOf(answer: Text): Watched {
  if (answer.status !== 200) return { ...gotOf(answer), events: [] }
  const lines = answer.text.split('\n').filter((line) => line !== '')
  const events = lines.map((line) => JSON.parse(line) as Watched['events'][number])
  return { status: 200, retryAfter: answer.retryAfter, doc: {}, events }
}

/**
 * Four objects, created one after the other. The history is compacted up to the third one, so that
 * the version of the first is gone.
 */
export type Facts = {
  /** Path and query of a list of exactly these objects. */
  readonly url: string
  /** Path of the first object. */
  readonly object: string
  readonly names: readonly [string, string, string, string]
  /** The version of the first object. */
  readonly compacted: string
  /** The version of a list when there were three objects. */
  readonly past: string
  /** The version of the fourth object. */
  readonly now: string
  /** Continue tokens that follow the first object: of a list at `past`, and of a compacted one. */
  readonly token: string
  readonly expiredToken: string
}

/** Creates one object and returns its version. */
export type Make = (name: string) => Promise<string>

/**
 * @param of.compact compacts the history at least up to that version
 * @param of.first the part that their names begin with
 */
export async function tableFacts(
  requested: QueriedServer,
  of: {
    readonly url: string
    readonly collection: string
    readonly first: string
    readonly make: Make
    readonly compact: (version: string) => Promise<void>
  },
): Promise<Facts> {
  const names = [1, 2, 3, 4].map((at) => `${of.first}${at}`) as unknown as Facts['names']
  const page = async (): Promise<Doc> => (await requested.get(`${of.url}&limit=1`)).doc
  const compacted = await of.make(names[0])
  await of.make(names[1])
  const old = await page()
  await of.compact(await of.make(names[2]))
  const then = await page()
  const now = await of.make(names[3])
  return {
    ...{ url: of.url, object: `${of.collection}/${names[0]}`, names, compacted, now },
    past: then.metadata?.resourceVersion ?? '',
    token: encodeURIComponent(then.metadata?.continue ?? ''),
    expiredToken: encodeURIComponent(old.metadata?.continue ?? ''),
  }
}

const versions = ['unset', '0', 'past', 'now', 'future', 'compacted', 'malformed'] as const
type VersionAsked = (typeof versions)[number]

/**
 * The required answer of a list. `then`, `now`: the state at that version; `2`: the first page of
 * two.
 */
type ListCell = 'all' | 'two' | 'then' | 'then2' | 'now' | 'now2' | 'rest' | 400 | 410 | 504

/** The required events of a watch. `state`: the initial state; `mark`: with its final bookmark. */
type WatchCell = 'state' | 'state, mark' | 'after past' | 'nothing' | 400 | 410 | 504

type Row<Cell> = readonly [match: string, more: string, ...cells: Cell[]]

const refused = [400, 400, 400, 400, 400, 400, 400] as const

/** The columns are `versions`. */
const lists: readonly Row<ListCell>[] = [
  ['', '', 'all', 'all', 'all', 'all', 504, 'all', 400],
  ['', 'limit=2', 'two', 'two', 'then2', 'now2', 504, 410, 400],
  ['', 'limit=2&continue=TOKEN', 'rest', 'rest', 400, 400, 400, 400, 400],
  ['', 'continue=TOKEN', 'rest', 'rest', 400, 400, 400, 400, 400],
  ['', 'limit=2&continue=EXPIRED', 410, 410, 400, 400, 400, 400, 400],
  ['', 'limit=2&continue=x', ...refused],
  ['Exact', '', 400, 400, 'then', 'now', 504, 410, 400],
  ['Exact', 'limit=2', 400, 400, 'then2', 'now2', 504, 410, 400],
  ['Exact', 'limit=2&continue=TOKEN', ...refused],
  ['Exact', 'continue=TOKEN', ...refused],
  ['Exact', 'limit=2&continue=EXPIRED', ...refused],
  ['NotOlderThan', '', 400, 'all', 'all', 'all', 504, 'all', 400],
  ['NotOlderThan', 'limit=2', 400, 'two', 'two', 'two', 504, 'two', 400],
  ['NotOlderThan', 'limit=2&continue=TOKEN', ...refused],
  ['NotOlderThan', 'continue=TOKEN', ...refused],
  ['NotOlderThan', 'limit=2&continue=EXPIRED', ...refused],
  ['Newest', '', ...refused],
  ['', 'sendInitialEvents=true', ...refused],
  ['NotOlderThan', 'sendInitialEvents=true', ...refused],
]

const gets: readonly (200 | 400 | 504)[] = [200, 200, 200, 200, 504, 200, 400]

const marked = 'sendInitialEvents=true&allowWatchBookmarks=true'

/** A watch at a future version waits until it times out, unless it starts with a state. */
const watches: readonly Row<WatchCell>[] = [
  ['', '', 'state', 'state', 'after past', 'nothing', 'nothing', 410, 400],
  ['', 'continue=TOKEN', ...refused],
  ['Exact', '', ...refused],
  ['NotOlderThan', '', ...refused],
  ['', 'sendInitialEvents=true', ...refused],
  ['Exact', 'sendInitialEvents=true', ...refused],
  ['Exact', 'sendInitialEvents=false', ...refused],
  ['NotOlderThan', 'sendInitialEvents=true', 'state', 'state', 'state', 'state', 504, 'state', 400],
  [
    'NotOlderThan',
    'sendInitialEvents=false',
    'nothing',
    'nothing',
    'after past',
    'nothing',
    'nothing',
    410,
    400,
  ],
  [
    'NotOlderThan',
    marked,
    'state, mark',
    'state, mark',
    'state, mark',
    'state, mark',
    504,
    'state, mark',
    400,
  ],
]

/**
 * Sends the request of each cell and checks the answer.
 *
 * @returns the response to each request of one exact version, so that members can be compared
 * @throws AssertionError naming the cell
 */
export async function assertTable(
  requested: QueriedServer,
  facts: Facts,
): Promise<ReadonlyMap<string, string>> {
  const exact = new Map<string, string>()
  const questions: (() => Promise<void>)[] = []
  /** The requests that are answered only when a timeout is over. */
  const patient: (() => Promise<void>)[] = []
  for (const [at, version] of versions.entries()) {
    for (const [match, more, ...cells] of lists) {
      const path = `${facts.url}&${queryOf(facts, match, more, version)}`
      const wanted = cellAt(cells, at)
      const asking = wanted === 504 ? patient : questions
      asking.push(async () => {
        const cell = assertList(await requested.get(path + waitingFor(wanted)), wanted, facts, path)
        if (cell !== null) exact.set(path, cell)
      })
    }
    const wanted = cellAt(gets, at)
    const asking = wanted === 504 ? patient : questions
    asking.push(async () => {
      const path = `${facts.object}?${queryOf(facts, '', '', version)}`
      const got = await requested.get(path + waitingFor(wanted))
      if (wanted === 200) assert.deepEqual([got.status, nameOf(got.doc)], [200, facts.names[0]], path)
      else assertRefusal(got, wanted, path)
    })
    for (const [match, more, ...cells] of watches) {
      const path = `${facts.url}&watch=1&${queryOf(facts, match, more, version)}`
      // Long enough for all existing events, also on a busy machine.
      const cell = cellAt(cells, at)
      const query = `${path}&timeoutSeconds=2${waitingFor(cell)}`
      const isPatient = cell === 504 || typeof cell === 'string'
      const ofWatches = isPatient ? patient : questions
      ofWatches.push(async () => assertWatch(await requested.watch(query), cell, facts, path))
    }
  }
  // All together, as most of the time is waiting.
  await Promise.all(patient.map((question) => question()))
  for (let at = 0; at < questions.length; at += atOnce)
    await Promise.all(questions.slice(at, at + atOnce).map((question) => question()))
  return exact
}

const atOnce = 32

/**
 * Shorter than the watches: future versions never arrive, and existing ones do, also on a busy
 * machine.
 */
function waitingFor(wanted: unknown): string {
  return wanted === 504 ? '&timeout=1s' : ''
}

/** The number of cells in the table. */
export const tableCells = versions.length * (lists.length + watches.length + 1)

function queryOf(facts: Facts, match: string, more: string, version: VersionAsked): string {
  const parts = [
    ...(match === '' ? [] : [`resourceVersionMatch=${match}`]),
    ...(more === '' ? [] : [more.replace('TOKEN', facts.token).replace('EXPIRED', facts.expiredToken)]),
    ...(version === 'unset' ? [] : [`resourceVersion=${versionOf(facts, version)}`]),
  ]
  return parts.join('&')
}

function versionOf(facts: Facts, version: VersionAsked): string {
  switch (version) {
    case 'unset':
      return ''
    case '0':
      return '0'
    case 'past':
    case 'now':
    case 'compacted':
      return facts[version]
    case 'future':
      return String(Number(facts.now) + 1_000_000)
    case 'malformed':
      return 'abc'
  }
}

/** @returns the answer as text if the request determines its version, else null */
function assertList(got: Got, cell: ListCell, facts: Facts, path: string): string | null {
  if (typeof cell === 'number') {
    assertRefusal(got, cell, path)
    const instead = got.doc.metadata?.continue ?? ''
    assert.equal(instead !== '', cell === 410 && path.includes(facts.expiredToken), path)
    return null
  }
  const { names, past, now } = facts
  const [one, two, three] = names
  const wanted = { all: names, now: names, then: [one, two, three], rest: [two, three] }
  const shown = cell === 'two' || cell === 'then2' || cell === 'now2' ? [one, two] : wanted[cell]
  const { doc, status } = got
  assert.deepEqual([status, (doc.items ?? []).map(nameOf)], [200, shown], path)
  const more = (doc.metadata?.continue ?? '') !== ''
  assert.equal(more, cell === 'two' || cell === 'then2' || cell === 'now2', path)
  const version = doc.metadata?.resourceVersion ?? ''
  if (cell === 'all' || cell === 'two') {
    assert.ok(Number(version) >= Number(now), `${path}: ${version}`)
    return null
  }
  assert.equal(version, cell === 'now' || cell === 'now2' ? now : past, path)
  return JSON.stringify(doc)
}

function assertWatch(got: Watched, cell: WatchCell, facts: Facts, path: string): void {
  if (typeof cell === 'number') return assertRefusal(got, cell, path)
  const { names, now } = facts
  const words = got.events.map(({ type, object }) => `${type} ${nameOf(object)}`.trim())
  const state = names.map((name) => `ADDED ${name}`)
  const wanted = {
    state,
    'state, mark': [...state, 'BOOKMARK'],
    'after past': [`ADDED ${names[3]}`],
    nothing: [],
  }
  // The end of a watch is another bookmark, where they are allowed.
  const reported = words.filter((word, at) => word !== 'BOOKMARK' || words.indexOf(word) === at)
  assert.deepEqual([got.status, reported], [200, wanted[cell]], path)
  const mark = got.events.find(({ type }) => type === 'BOOKMARK')
  if (mark === undefined) return
  const { annotations, resourceVersion } = mark.object.metadata ?? {}
  const keys = Object.keys(annotations ?? {})
  assert.ok(keys.length === 1 && keys[0]?.endsWith('/initial-events-end'), `${path}: ${keys.join()}`)
  assert.ok(Number(resourceVersion) >= Number(now), path)
}

const reasons = { 400: 'BadRequest', 410: 'Expired', 504: 'Timeout' } as const

function assertRefusal({ status, doc, retryAfter }: Got, wanted: 400 | 410 | 504, path: string): void {
  const { kind, reason, message = '', details } = doc
  assert.deepEqual([status, kind, reason], [wanted, 'Status', reasons[wanted]], `${path}: ${message}`)
  if (wanted !== 504) return
  assert.match(message, /Too large resource version/, path)
  const reported = [details?.causes?.map((cause) => cause.reason), details?.retryAfterSeconds, retryAfter]
  assert.deepEqual(reported, [['ResourceVersionTooLarge'], 1, '1'], path)
}

function nameOf(doc: Doc): string {
  return doc.metadata?.name ?? ''
}

function cellAt<Cell>(cells: readonly Cell[], at: number): Cell {
  const cell = cells[at]
  if (cell === undefined) throw new Error(`a row has no column ${at}`)
  return cell
}
