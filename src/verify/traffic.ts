import type { SeededRandom } from '../../raft/base/random.ts'
import type { Expected, Mode, Request } from './history.ts'
import type { Recorder } from './recorder.ts'

/** How often each kind of call is made, of the sum of all. */
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
} as const

type Kind = keyof typeof weights

const kinds = Object.keys(weights) as Kind[]
const weightSum = kinds.reduce((sum, kind) => sum + weights[kind], 0)

/** What one client asks next: drawn from the seed and from what was told meanwhile. */
export class Traffic {
  readonly #random: SeededRandom
  readonly #recorder: Recorder
  readonly #client: string
  readonly #names: readonly string[]
  #tokens = 0
  #lists = 0

  constructor(random: SeededRandom, recorder: Recorder, client: string, names: readonly string[]) {
    this.#random = random
    this.#recorder = recorder
    this.#client = client
    this.#names = names
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
        // What is not known to be there can only be made.
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
    let left = this.#random.below(weightSum)
    for (const kind of kinds) {
      left -= weights[kind]
      if (left < 0) return kind
    }
    return 'get'
  }

  #list(mode: Mode, limit: number | null): Request {
    return { kind: 'list', mode, limit, list: ++this.#lists, page: 0 }
  }

  /** What anybody was told last, so that members have to catch up with each other. */
  #notOlder(): Mode {
    const { newest } = this.#recorder
    return newest === 0 ? { kind: 'any' } : { kind: 'not-older-than', revision: newest }
  }

  #exact(): Mode {
    const { newest } = this.#recorder
    const back = this.#random.below(50)
    return newest <= back ? { kind: 'most-recent' } : { kind: 'exact', revision: newest - back }
  }

  /** No other write of the run has it. */
  #token(): string {
    return `${this.#client}-${++this.#tokens}`
  }
}
