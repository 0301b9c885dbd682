import type { SeededRandom } from '../../../base/random.ts'
import type { ReadProof } from '../../../src/registry/calls/consistency.ts'
import type { World } from '../world.ts'
import { ask } from './connection.ts'
import type { Answer, Call, History, KnownVersion, Mode, Proof, Range, Request } from './history.ts'
import type { Served } from './served.ts'
import type { ObservedObject } from './observed-object.ts'
import { answerOf, perform } from './verbs.ts'
import type { Extra } from './verbs.ts'

export type ClientOptions = {
  readonly world: World
  readonly history: History
  readonly number: number
  /** Serving processes, in order of their members. */
  readonly serving: () => readonly Served[]
  /** Whether a PUT creates a missing object in this API domain. */
  readonly putCreates: boolean
  readonly payloadBytesMax: number
  readonly tokens: Tokens
}

/** Each token identifies one write of one client in the whole run. */
export class Tokens {
  #next = 1

  next(client: number): string {
    return `${client}-${this.#next++}`
  }
}

const colors = ['red', 'blue'] as const
/** Few names, so that clients conflict. The first namespace is never deleted. */
const keys = ['default/k0', 'default/k1', 'default/k2', 'a/k0', 'a/k1', 'b/k0'] as const
/** Created and updated only together, in the store directly; deleted one at a time. */
const pairs = ['default/t0', 'default/t1', 'default/t2'] as const
const namespaces = ['a', 'b'] as const

type Act =
  | 'create'
  | 'generate'
  | 'update'
  | 'patch'
  | 'delete'
  | 'delete-collection'
  | 'namespace'
  | 'together'
  | 'get'
  | 'list'

const weights: readonly (readonly [Act, number])[] = [
  ['create', 16],
  ['generate', 4],
  ['update', 16],
  ['patch', 10],
  ['delete', 9],
  ['delete-collection', 1],
  ['namespace', 2],
  ['together', 5],
  ['get', 20],
  ['list', 17],
]

/** One client: one request at a time, at its own member or at any. */
export class Client {
  readonly #options: ClientOptions
  readonly #random: SeededRandom
  readonly #isSticky: boolean
  /** The last version of each object that it received. */
  readonly #known = new Map<string, ObservedObject>()
  /** Some received revisions, the newest last; bounded. */
  readonly #revisions: number[] = []
  #member: number | null = null
  #lists = 0

  constructor(options: ClientOptions) {
    this.#options = options
    this.#random = options.world.random.fork()
    this.#isSticky = this.#random.chance(0.5)
  }

  /** Performs one action of a client. */
  async act(): Promise<void> {
    const served = this.#choose()
    if (served !== null) await this.#actAt(served)
  }

  /** Performs one write, or one most recent read. */
  async burst(served: Served, what: 'read' | 'write'): Promise<void> {
    const key = this.#random.pick(keys)
    const request: Request =
      what === 'read'
        ? { kind: 'get', key, mode: { kind: 'most-recent' } }
        : { kind: 'update', key, token: this.#token(), expected: null, creates: this.#options.putCreates }
    await this.#call(served, 300, request)
  }

  /** Performs one action at one process. */
  async #actAt(served: Served): Promise<void> {
    const timeoutMs = this.#random.pick([30, 300, 3_000])
    const act = this.#draw()
    if (act === 'list') {
      await this.#list(served, timeoutMs)
      return
    }
    const request = this.#request(act)
    if (request !== null) await this.#call(served, timeoutMs, request)
  }

  /**
   * Performs one write and one most recent read at one process.
   *
   * @returns whether both succeeded
   */
  async proves(served: Served, timeoutMs: number): Promise<boolean> {
    const token = this.#token()
    const key = `default/served-${token}`
    const wrote = await this.#call(served, timeoutMs, { kind: 'create', key, token })
    if (wrote.kind !== 'object') return false
    const read = await this.#call(served, timeoutMs, { kind: 'get', key, mode: { kind: 'most-recent' } })
    return read.kind === 'object'
  }

  #choose(): Served | null {
    const all = this.#options.serving()
    const stuck = this.#isSticky ? all.find(({ member }) => member === this.#member) : undefined
    if (stuck !== undefined && !this.#random.chance(0.02)) return stuck
    if (all.length === 0) return null
    const served = this.#random.pick(all)
    this.#member = served.member
    return served
  }

  #draw(): Act {
    let left = this.#random.below(weights.reduce((sum, [, weight]) => sum + weight, 0))
    for (const [act, weight] of weights) {
      if (left < weight) return act
      left -= weight
    }
    return 'get'
  }

  #request(act: Exclude<Act, 'list'>): Request | null {
    const random = this.#random
    const key = random.pick(keys)
    switch (act) {
      case 'create':
        return { kind: 'create', key, token: this.#token() }
      case 'generate':
        return { kind: 'generate', namespace: 'default', prefix: 'g-', token: this.#token() }
      case 'update':
      case 'patch': {
        const expected = random.chance(act === 'update' ? 0.7 : 0.2) ? this.#version(key) : null
        const creates = expected === null && this.#options.putCreates
        const common = { key, token: this.#token(), expected }
        return act === 'update' ? { kind: act, ...common, creates } : { kind: act, ...common }
      }
      case 'delete': {
        const some = random.chance(0.2) ? random.pick(pairs) : key
        const uid = random.chance(0.3) ? (this.#known.get(some)?.uid ?? null) : null
        return { kind: 'delete', key: some, uid, expected: random.chance(0.3) ? this.#version(some) : null }
      }
      case 'delete-collection':
        return {
          kind: 'delete-collection',
          range: { namespace: random.pick(namespaces), color: this.#color() },
        }
      case 'namespace': {
        const namespace = random.pick(namespaces)
        return { kind: random.chance(0.7) ? 'create-namespace' : 'delete-namespace', namespace }
      }
      case 'together':
        return { kind: 'write-together', keys: pairs.slice(0, 2 + random.below(2)), token: this.#token() }
      case 'get':
        return { kind: 'get', key: random.chance(0.1) ? random.pick(pairs) : key, mode: this.#mode(false) }
    }
  }

  /** Reads page after page, each at the member that the client chooses, until it stops. */
  async #list(first: Served, timeoutMs: number): Promise<void> {
    const random = this.#random
    const range: Range = { namespace: random.pick([null, 'default', 'a']), color: this.#color() }
    const limit = random.chance(0.5) ? 1 + random.below(4) : null
    const pagesOf = this.#lists++ * 1_000 + this.#options.number
    const mode = this.#mode(true)
    let continueToken: string | null = null
    let served: Served | null = first
    for (let page = 0; page < 20 && served !== null; page++) {
      const request: Request = { kind: 'list', range, mode, limit, pagesOf, page }
      const next = await this.#page(served, timeoutMs, request, continueToken)
      if (next === null || random.chance(0.05)) return
      continueToken = next
      served = this.#choose()
    }
  }

  async #page(
    served: Served,
    timeoutMs: number,
    request: Request,
    token: string | null,
  ): Promise<string | null> {
    let next: string | null = null
    await this.#call(served, timeoutMs, request, {
      continueToken: token,
      continues: (given) => {
        next = given
      },
    })
    return next
  }

  async #call(
    served: Served,
    timeoutMs: number,
    request: Request,
    pages: {
      readonly continueToken: string | null
      readonly continues: (token: string | null) => void
    } | null = null,
  ): Promise<Answer> {
    const { world, history, number } = this.#options
    const { member, process } = served
    const call: Call = history.begin({ client: number, member, process }, request)
    const extra = this.#extra(pages?.continueToken ?? null)
    let proof: Proof | null = null
    const proven = ({ mode, boundMs, revision }: ReadProof): void => {
      proof = { mode, boundMs, revision, atMs: world.now }
    }
    const result = await ask(world, this.#random, { served, timeoutMs }, (at, context) =>
      perform(at, { ...context, proven }, request, extra),
    )
    call.wasCut = served.wasCut
    if (result.kind === 'lost') return call.answer
    const answer = result.kind === 'value' ? result.value.answer : answerOf(result.cause)
    if (result.kind === 'value') pages?.continues(result.value.continueToken)
    call.proof = proof
    history.end(call, answer)
    this.#learn(answer)
    return answer
  }

  #extra(continueToken: string | null): Extra {
    const { payloadBytesMax } = this.#options
    const body = {
      color: this.#random.pick(colors),
      payload: 'x'.repeat(this.#random.below(payloadBytesMax)),
    }
    return { body, continueToken }
  }

  #learn(answer: Answer): void {
    if (answer.kind === 'object') {
      this.#known.set(answer.object.key, answer.object)
      this.#revisions.push(answer.object.revision)
    }
    if (answer.kind === 'list') {
      for (const object of answer.objects) this.#known.set(object.key, object)
      this.#revisions.push(answer.revision)
    }
    if (this.#revisions.length > 50) this.#revisions.shift()
  }

  #version(key: string): KnownVersion | null {
    const known = this.#known.get(key)
    return known === undefined || known.token === '' ? null : { revision: known.revision, token: known.token }
  }

  #mode(isList: boolean): Mode {
    const random = this.#random
    const [oldest = 0] = this.#revisions
    const seen = this.#revisions.length === 0 || random.chance(0.2) ? oldest : random.pick(this.#revisions)
    const kind = random.below(14)
    if (kind < 5 || (seen === 0 && kind < 10)) return { kind: 'most-recent' }
    if (kind < 6) return { kind: 'any' }
    if (kind >= 12) return { kind: 'lease' }
    if (kind >= 11) return { kind: 'bounded', boundMs: random.pick([5, 20, 200, 2_000]) }
    if (kind >= 10) return random.chance(0.3) ? { kind: 'log' } : { kind: 'lease' }
    // Sometimes a revision that may not exist yet.
    if (kind < 8 || !isList)
      return { kind: 'not-older-than', revision: seen + (random.chance(0.2) ? random.below(5) : 0) }
    return { kind: 'exact', revision: seen }
  }

  #color(): string | null {
    return this.#random.chance(0.4) ? this.#random.pick(colors) : null
  }

  #token(): string {
    return this.#options.tokens.next(this.#options.number)
  }
}
