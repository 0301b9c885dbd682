import type { SeededRandom } from '../../../../base/random.ts'
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
} from '../../../../tools/verify/history.ts'
import { sideOf } from '../../../../tools/verify/sides.ts'

/** A change of an object, from version `last` to `version`; null: there was, or is, no object. */
type Change = {
  readonly name: string
  readonly revision: number
  readonly version: Version | null
  readonly last: Version | null
}

type Member = { readonly name: string; applied: number }

/** The position of a watcher. */
type Position = {
  readonly watcher: string
  readonly side: Watch['side']
  at: number
  watch: Watch | null
  member: Member
}

type Flight = {
  readonly client: number
  readonly member: Member
  readonly begin: number
  readonly request: Request
  /** null: not yet decided. */
  answer: Answer | null
}

/**
 * A cluster that keeps exactly the guarantees: members lag, outcomes are lost and take effect late,
 * other objects use up revisions, watches break. The histories of its clients are valid by
 * construction.
 */
export class CorrectCluster {
  readonly #random: SeededRandom
  readonly #log: Change[] = []
  readonly #state = new Map<string, Version>()
  readonly #members: readonly Member[]
  readonly #calls: Call[] = []
  readonly #watches: Watch[] = []
  readonly #flights = new Map<number, Flight>()
  /** Writes without a response: they may still take effect. */
  readonly #late: Request[] = []
  readonly #sent = new Map<string, Version>()
  readonly #positions: Position[]
  #head = 10
  #newestSent = 10
  #moment = 0
  #tokens = 0
  #lists = 0

  constructor(random: SeededRandom) {
    this.#random = random
    this.#members = ['n1', 'n2', 'n3'].map((name) => ({ name, applied: 10 }))
    this.#positions = [null, null, null, random.pick(['even', 'odd'] as const)].map((side, at) => ({
      ...{ watcher: `w${at}`, side, at: 10, watch: null },
      member: random.pick(this.#members),
    }))
  }

  /** @param steps of all clients together */
  run(steps: number): History {
    this.#listFor()
    for (let step = 0; step < steps; step++) this.#step()
    for (const flight of this.#flights.values()) this.#end(flight)
    for (const member of this.#members) member.applied = this.#head
    for (const position of this.#positions) this.#follow(position, Infinity)
    const copies = this.#members.map(({ name }): Copy => {
      const versions = this.#at(this.#head)
      return { member: name, revision: this.#head, atMs: ++this.#moment, digest: 'same', versions }
    })
    return {
      facts: { seed: 1, namespace: 'test', members: this.#members.map(({ name }) => name), startedMs: 0 },
      ...{ calls: this.#calls, watches: this.#watches, copies },
      ...{ lastRevision: this.#head, endedMs: this.#moment },
    }
  }

  #step(): void {
    const random = this.#random
    const client = random.below(6)
    const flight = this.#flights.get(client)
    const draw = random.below(10)
    if (draw < 6) {
      if (flight === undefined) this.#begin(client)
      else if (flight.answer === null) this.#decide(flight)
      else this.#end(flight)
    } else if (draw < 7) {
      const member = random.pick(this.#members)
      member.applied = Math.min(this.#head, member.applied + random.below(4))
    } else if (draw < 8) {
      // Writes to other resources use up revisions.
      this.#head += random.below(2)
      const late = random.chance(0.2) ? this.#late.shift() : undefined
      if (late !== undefined) this.#write(late)
    } else this.#follow(random.pick(this.#positions), 1 + random.below(4))
  }

  /** Takes the first list of every watcher. */
  #listFor(): void {
    const request: Request = {
      kind: 'list',
      mode: { kind: 'most-recent' },
      limit: null,
      list: ++this.#lists,
      page: 0,
    }
    const answer: Answer = {
      kind: 'list',
      revision: 10,
      versions: [],
      foreign: 0,
      more: false,
      remaining: null,
    }
    const member = this.#members[0]?.name ?? ''
    this.#record({ client: 'w', member, begin: ++this.#moment, request, answer })
  }

  #begin(client: number): void {
    const flight = {
      ...{ client, member: this.#random.pick(this.#members), begin: ++this.#moment },
      ...{ request: this.#draw(), answer: null },
    }
    this.#flights.set(client, flight)
  }

  #draw(): Request {
    const random = this.#random
    const name = `o${random.below(4)}`
    const known = this.#sent.get(name)
    const expected: Expected | null =
      known !== undefined && random.chance(0.6) ? { revision: known.revision, token: known.token } : null
    const token = `t${++this.#tokens}`
    const mode = this.#mode()
    const list = { kind: 'list', mode, list: ++this.#lists, page: 0 } as const
    return random.pick<Request>([
      { kind: 'create', name, token },
      { kind: 'create', name, token },
      { kind: 'update', name, token, expected },
      { kind: 'update', name, token, expected },
      { kind: 'delete', name, expected },
      { kind: 'get', name, mode: mode.kind === 'exact' ? { kind: 'any' } : mode },
      { ...list, limit: null },
      { ...list, limit: 1 + random.below(3) },
    ])
  }

  #mode(): Mode {
    const newest = this.#newestSent
    return this.#random.pick<Mode>([
      { kind: 'most-recent' },
      { kind: 'any' },
      { kind: 'not-older-than', revision: newest },
      { kind: 'exact', revision: Math.max(1, newest - this.#random.below(8)) },
    ])
  }

  #decide(flight: Flight): void {
    const { request, member } = flight
    if (request.kind === 'get' || request.kind === 'list') {
      flight.answer = this.#read(request, member)
      return
    }
    const isLost = this.#random.chance(0.1)
    if (isLost && this.#random.chance(0.5)) this.#late.push(request)
    const answer = isLost && this.#late.includes(request) ? null : this.#write(request)
    flight.answer = isLost || answer === null ? { kind: 'unknown', why: 'lost' } : answer
  }

  #write(request: Request): Answer {
    if (request.kind === 'get' || request.kind === 'list') throw new Error('a read was passed to be written')
    const { name } = request
    const before = this.#state.get(name) ?? null
    const refused = (code: number, reason: string): Answer => ({
      kind: 'refused',
      code,
      reason,
      about: 'configmaps',
    })
    if (request.kind === 'create' && before !== null) return refused(409, 'AlreadyExists')
    if (request.kind !== 'create' && before === null) return refused(404, 'NotFound')
    const expected = request.kind === 'create' ? null : request.expected
    if (expected !== null && before?.revision !== expected.revision) return refused(409, 'Conflict')
    const revision = ++this.#head
    if (request.kind === 'delete') {
      this.#state.delete(name)
      this.#log.push({ name, revision, version: null, last: before })
      return { kind: 'deleted' }
    }
    const { token } = request
    const version = { name, revision, uid: before?.uid ?? `uid-${revision}`, token, digest: token }
    this.#state.set(name, version)
    this.#log.push({ name, revision, version, last: before })
    return { kind: 'object', version, created: before === null }
  }

  #read(request: Extract<Request, { mode: Mode }>, member: Member): Answer {
    const { mode } = request
    let revision = this.#head
    if (mode.kind === 'any') revision = member.applied
    if (mode.kind === 'exact') revision = mode.revision
    if (mode.kind === 'not-older-than') revision = member.applied = Math.max(member.applied, mode.revision)
    const versions = this.#at(revision)
    if (request.kind === 'list') {
      const shown = versions.slice(0, request.limit ?? Infinity)
      const left = versions.length - shown.length
      const remaining = left > 0 ? left : null
      return { kind: 'list', revision, versions: shown, foreign: 0, more: left > 0, remaining }
    }
    const version = versions.find((one) => one.name === request.name)
    if (version !== undefined) return { kind: 'object', version, created: false }
    return { kind: 'refused', code: 404, reason: 'NotFound', about: 'configmaps' }
  }

  /** Ends a call and, where a list goes on, takes its other pages, or some of them. */
  #end(flight: Flight): void {
    const { client, begin, request } = flight
    this.#flights.delete(client)
    let answer = flight.answer ?? { kind: 'unknown', why: 'the end' }
    this.#record({ client: `c${client}`, member: flight.member.name, begin, request, answer })
    if (request.kind !== 'list') return
    let shown = 0
    for (let page = 1; answer.kind === 'list' && answer.more && this.#random.chance(0.9); page++) {
      const { revision } = answer
      shown += answer.versions.length
      const rest = this.#at(revision).slice(shown)
      const versions = rest.slice(0, request.limit ?? Infinity)
      const left = rest.length - versions.length
      answer = {
        kind: 'list',
        revision,
        versions,
        foreign: 0,
        more: left > 0,
        remaining: left > 0 ? left : null,
      }
      const { name: member } = this.#random.pick(this.#members)
      const again: Request = { ...request, page }
      this.#record({ client: `c${client}`, member, begin: ++this.#moment, request: again, answer })
    }
  }

  #record(call: Pick<Call, 'client' | 'member' | 'begin' | 'request' | 'answer'>): void {
    const end = ++this.#moment
    // A client has one connection to each member, which never breaks.
    const connection = Number(call.member.slice(1))
    this.#calls.push({ ...call, connection, end, beginMs: call.begin, endMs: end })
    const { answer } = call
    if (answer.kind === 'object') this.#noteSent(answer.version)
    if (answer.kind === 'list') {
      this.#newestSent = Math.max(this.#newestSent, answer.revision)
      for (const version of answer.versions) this.#noteSent(version)
    }
  }

  #noteSent(version: Version): void {
    this.#newestSent = Math.max(this.#newestSent, version.revision)
    if ((this.#sent.get(version.name)?.revision ?? 0) < version.revision)
      this.#sent.set(version.name, version)
  }

  /** Sends a watcher its next events, or ends the watch, which resumes on another member. */
  #follow(position: Position, most: number): void {
    const random = this.#random
    if (position.watch !== null && most !== Infinity && random.chance(0.1)) {
      position.watch = null
      position.member = random.pick(this.#members)
      return
    }
    if (position.watch === null) {
      const begin = ++this.#moment
      const resumed = this.#watches.some(({ watcher }) => watcher === position.watcher)
      position.watch = {
        ...{ id: this.#watches.length + 1, watcher: position.watcher, member: position.member.name, begin },
        ...{ beginMs: begin, after: position.at, resumed, side: position.side, events: [], end: '' },
      }
      this.#watches.push(position.watch)
    }
    const { applied } = position.member
    const due = this.#log
      .filter(({ revision }) => revision > position.at && revision <= applied)
      .slice(0, most)
    for (const { version, last, revision } of due) {
      const [is, was] = [within(version, position.side), within(last, position.side)]
      const type = is ? (was ? 'MODIFIED' : 'ADDED') : 'DELETED'
      const shown = is ? version : last === null ? null : { ...last, revision }
      if (is || was) this.#event(position, { type, revision, version: shown })
      else position.at = revision
    }
    const isThrough = !this.#log.some(({ revision }) => revision > position.at && revision <= applied)
    if (isThrough && applied >= position.at && (most === Infinity || random.chance(0.3)))
      this.#event(position, { type: 'BOOKMARK', revision: applied, version: null })
  }

  #event(
    position: { at: number; readonly watch: Watch | null },
    event: Omit<Watch['events'][number], 'at' | 'atMs'>,
  ): void {
    const at = ++this.#moment
    position.watch?.events.push({ at, atMs: at, ...event })
    position.at = event.revision
    this.#newestSent = Math.max(this.#newestSent, event.revision)
  }

  #at(revision: number): readonly Version[] {
    const state = new Map<string, Version>()
    for (const change of this.#log) {
      if (change.revision > revision) break
      if (change.version === null) state.delete(change.name)
      else state.set(change.name, change.version)
    }
    return [...state.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
  }
}

function within(version: Version | null, side: Watch['side']): boolean {
  return version !== null && (side === null || sideOf(version.token) === side)
}
