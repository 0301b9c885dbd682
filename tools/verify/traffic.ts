import type { SeededRandom } from '../../base/random.ts'
import type { Expected, Mode, Request } from './history.ts'
import type { Recorder } from './recorder.ts'

/** Relative frequency of each kind of call. */
const weights = {
  create: 14,
  'update-if': 20,
  update: 8,
  'delete-if': 4,
  delete: 5,
  get: 20,
  'get-any': 6,
  'get-not-older': 5,
  list: 5,
  'list-any': 3,
  'list-not-older': 3,
  'list-exact': 3,
  'list-pages': 4,
  'get-bounded': 4,
  'list-bounded': 1,
  'get-log': 1,
  'get-lease': 5,
  'list-lease': 1,
} as const

type Kind = keyof typeof weights

const kinds = Object.keys(weights) as Kind[]

/** The read modes beyond those of Kubernetes that the server supports. */
export type Offers = {
  /** The modes `bounded` and `log`. */
  readonly modes: boolean
  readonly lease: boolean
}

const special: Readonly<Partial<Record<Kind, keyof Offers>>> = {
  'get-bounded': 'modes',
  'list-bounded': 'modes',
  'get-log': 'modes',
  'get-lease': 'lease',
  'list-lease': 'lease',
}

/** Bounds in ms that a follower meets rarely, often and nearly always without asking the leader. */
const bounds = [5, 50, 1000] as const

/** Generates the next call of a client from the seed and from what was observed so far. */
export class Traffic {
  readonly #random: SeededRandom
  readonly #recorder: Recorder
  readonly #client: string
  readonly #names: readonly string[]
  readonly #kinds: readonly Kind[]
  readonly #weightSum: number
  #tokens = 0
  #lists = 0

  constructor(dependencies: {
    readonly random: SeededRandom
    readonly recorder: Recorder
    readonly client: string
    readonly names: readonly string[]
    readonly offers: Offers
  }) {
    const { offers } = dependencies
    this.#random = dependencies.random
    this.#recorder = dependencies.recorder
    this.#client = dependencies.client
    this.#names = dependencies.names
    this.#kinds = kinds.filter((kind) => {
      const needed = special[kind]
      return needed === undefined || offers[needed]
    })
    this.#weightSum = this.#kinds.reduce((sum, kind) => sum + weights[kind], 0)
  }

  next(): Request {
    const kind = this.#draw()
    const name = this.#random.pick(this.#names)
    const known = this.#recorder.known.get(name)
    const expected: Expected | null =
      known === undefined ? null : { revision: known.revision, token: known.token }
    switch (kind) {
      case 'create':
        return { kind: 'create', name, token: this.#token() }
      case 'update-if':
        // An object that is not known to exist can only be created.
        if (expected === null) return { kind: 'create', name, token: this.#token() }
        return { kind: 'update', name, token: this.#token(), expected }
      case 'update':
        return { kind: 'update', name, token: this.#token(), expected: null }
      case 'delete-if':
        return { kind: 'delete', name, expected }
      case 'delete':
        return { kind: 'delete', name, expected: null }
      case 'get':
        return { kind: 'get', name, mode: { kind: 'most-recent' } }
      case 'get-any':
        return { kind: 'get', name, mode: { kind: 'any' } }
      case 'get-not-older':
        return { kind: 'get', name, mode: this.#notOlder() }
      case 'get-bounded':
        return { kind: 'get', name, mode: this.#bounded() }
      case 'get-lease':
        return { kind: 'get', name, mode: { kind: 'lease' } }
      case 'get-log':
        return { kind: 'get', name, mode: { kind: 'log' } }
      case 'list-bounded':
        return this.#list(this.#bounded(), null)
      case 'list-lease':
        return this.#list({ kind: 'lease' }, null)
      case 'list':
        return this.#list({ kind: 'most-recent' }, null)
      case 'list-any':
        return this.#list({ kind: 'any' }, null)
      case 'list-not-older':
        return this.#list(this.#notOlder(), null)
      case 'list-exact':
        return this.#list(this.#exact(), null)
      case 'list-pages': {
        const mode: Mode = this.#random.chance(0.7) ? { kind: 'most-recent' } : this.#exact()
        return this.#list(mode, 1 + this.#random.below(Math.max(1, Math.ceil(this.#names.length / 2))))
      }
    }
  }

  #draw(): Kind {
    let left = this.#random.below(this.#weightSum)
    for (const kind of this.#kinds) {
      left -= weights[kind]
      if (left < 0) return kind
    }
    return 'get'
  }

  #list(mode: Mode, limit: number | null): Request {
    return { kind: 'list', mode, limit, list: ++this.#lists, page: 0 }
  }

  /**
   * Requires the latest revision that any client observed, which other members may not have yet.
   */
  #notOlder(): Mode {
    const { newest } = this.#recorder
    return newest === 0 ? { kind: 'any' } : { kind: 'not-older-than', revision: newest }
  }

  #bounded(): Mode {
    return { kind: 'bounded', boundMs: this.#random.pick(bounds) }
  }

  #exact(): Mode {
    const { newest } = this.#recorder
    const back = this.#random.below(50)
    return newest <= back ? { kind: 'most-recent' } : { kind: 'exact', revision: newest - back }
  }

  /** Returns a token that is unique among all writes of the run. */
  #token(): string {
    return `${this.#client}-${++this.#tokens}`
  }
}
