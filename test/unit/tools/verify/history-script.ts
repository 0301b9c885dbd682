import { HistoryIndex } from '../../../../tools/verify/history-index.ts'
import type { CheckReport } from '../../../../tools/verify/finding.ts'
import type {
  Answer,
  Call,
  Copy,
  Expected,
  History,
  Mode,
  Request,
  Version,
  Watch,
  WatchEvent,
} from '../../../../tools/verify/history.ts'

/** `a@5`: object a at revision 5, written by the write `a5`; `a@5=x`: by the write `x`. */
type Shown = string

type When = {
  readonly begin?: number
  readonly end?: number
  readonly member?: string
  readonly connection?: number
}

export type Event = readonly ['ADDED' | 'MODIFIED' | 'DELETED', Shown] | readonly ['BOOKMARK', number]

/** A history by hand: each call begins after the one before it, unless its times are given. */
export class HistoryScript {
  readonly #calls: Call[] = []
  readonly #watches: Watch[] = []
  readonly #copies: Copy[] = []
  readonly #uids = new Map<string, string>()
  #moment = 0
  #lists = 0
  members = ['n1']
  lastRevision: number | null = 0

  create(shown: Shown, when: When = {}): this {
    const version = this.#born(shown)
    const { name, token } = version
    return this.#call({ kind: 'create', name, token }, { kind: 'object', version, created: true }, when)
  }

  /** @param from the version named as its condition; null: none */
  update(shown: Shown, from: Shown | null, when: When = {}): this {
    const version = this.version(shown)
    const { name, token } = version
    const request: Request = {
      kind: 'update',
      name,
      token,
      expected: from === null ? null : expectedOf(from),
    }
    return this.#call(request, { kind: 'object', version, created: false }, when)
  }

  delete(name: string, from: Shown | null = null, when: When = {}): this {
    const expected = from === null ? null : expectedOf(from)
    return this.#call({ kind: 'delete', name, expected }, { kind: 'deleted' }, when)
  }

  /** Adds a write without a response. */
  unknown(request: Request, when: When = {}): this {
    return this.#call(request, { kind: 'unknown', why: 'no answer' }, when)
  }

  refused(request: Request, reason: string, when: When = {}): this {
    return this.#call(request, { kind: 'refused', code: 409, reason, about: 'configmaps' }, when)
  }

  get(shown: Shown, mode: Mode = mostRecent, when: When = {}): this {
    const version = this.version(shown)
    const request: Request = { kind: 'get', name: version.name, mode }
    return this.#call(request, { kind: 'object', version, created: false }, when)
  }

  missing(name: string, mode: Mode = mostRecent, when: When = {}): this {
    const answer: Answer = { kind: 'refused', code: 404, reason: 'NotFound', about: 'configmaps' }
    return this.#call({ kind: 'get', name, mode }, answer, when)
  }

  list(revision: number, shown: readonly Shown[], mode: Mode = mostRecent, when: When = {}): this {
    const request: Request = { kind: 'list', mode, limit: null, list: ++this.#lists, page: 0 }
    return this.#call(request, this.#listed(revision, shown, null), when)
  }

  /** One list in pages; `left` is the remaining item count of each page, null for the last. */
  pages(
    pages: readonly {
      readonly revision: number
      readonly shown: readonly Shown[]
      /** Objects on later pages; unknown: there are some; null: there are none. */
      readonly left: number | 'unknown' | null
    }[],
  ): this {
    const list = ++this.#lists
    for (const [page, { revision, shown, left }] of pages.entries()) {
      const request: Request = { kind: 'list', mode: mostRecent, limit: shown.length, list, page }
      this.#call(request, this.#listed(revision, shown, left), {})
    }
    return this
  }

  watch(
    after: number,
    events: readonly Event[],
    of: {
      readonly watcher?: string
      readonly resumed?: boolean
      readonly member?: string
      readonly side?: Watch['side']
    } = {},
  ): this {
    const begin = ++this.#moment
    const reported = events.map(([type, shown]): WatchEvent => {
      const at = ++this.#moment
      if (type === 'BOOKMARK') return { at, atMs: at, type, revision: shown, version: null }
      const version = this.version(shown)
      return { at, atMs: at, type, revision: version.revision, version }
    })
    this.#watches.push({
      ...{ id: this.#watches.length + 1, watcher: of.watcher ?? 'w1', member: of.member ?? 'n1' },
      ...{ begin, beginMs: begin, after, resumed: of.resumed ?? false, events: reported, end: '' },
      side: of.side ?? null,
    })
    return this
  }

  copy(member: string, revision: number, shown: readonly Shown[], digest = shown.join()): this {
    const versions = shown.map((one) => this.version(one))
    this.#copies.push({ member, revision, atMs: ++this.#moment, digest, versions })
    return this
  }

  /** Objects keep their uid until they are recreated. `a@5#b`: with the content of another. */
  version(shown: Shown): Version {
    const { name, revision, token, digest } = parse(shown)
    return { name, revision, uid: this.#uids.get(name) ?? `uid-${name}`, token, digest }
  }

  history(): History {
    const { members, lastRevision } = this
    return {
      facts: { seed: 1, namespace: 'test', members, startedMs: 0 },
      calls: this.#calls,
      watches: this.#watches,
      copies: this.#copies,
      lastRevision,
      endedMs: this.#moment,
    }
  }

  index(): HistoryIndex {
    return new HistoryIndex(this.history())
  }

  #born(shown: Shown): Version {
    const { name, revision } = parse(shown)
    this.#uids.set(name, `uid-${name}-${revision}`)
    return this.version(shown)
  }

  #listed(revision: number, shown: readonly Shown[], left: number | 'unknown' | null): Answer {
    const remaining = left === 'unknown' ? null : left
    const versions = shown.map((one) => this.version(one))
    return { kind: 'list', revision, versions, foreign: 0, more: left !== null, remaining }
  }

  #call(request: Request, answer: Answer, when: When): this {
    const begin = when.begin ?? ++this.#moment
    const end = when.end ?? ++this.#moment
    this.#moment = Math.max(this.#moment, begin, end)
    const { member = 'n1', connection = 1 } = when
    this.#calls.push({
      ...{ client: 'c1', member, connection, begin, end, beginMs: begin, endMs: end, request, answer },
    })
    this.#calls.sort((a, b) => a.end - b.end)
    return this
  }
}

export const mostRecent: Mode = { kind: 'most-recent' }
export const anyVersion: Mode = { kind: 'any' }

export function notOlder(revision: number): Mode {
  return { kind: 'not-older-than', revision }
}

export function exactly(revision: number): Mode {
  return { kind: 'exact', revision }
}

/** Returns the kinds of the anomalies of a report. */
export function kindsOf({ anomalies }: CheckReport): readonly string[] {
  return anomalies.map(({ kind }) => kind)
}

export function expectedOf(shown: Shown): Expected {
  const { revision, token } = parse(shown)
  return { revision, token }
}

function parse(shown: Shown): Version {
  const [, name = '', at = '', token = `${name}${at}`, digest = token] =
    /^(\w+)@(\d+)(?:=(\w+))?(?:#(\w+))?$/.exec(shown) ?? []
  return { name, revision: Number(at), uid: '', token, digest }
}
