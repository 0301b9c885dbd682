import type { SeededRandom } from '../../../base/random.ts'
import { ConsensusError, MembershipError } from '../../../raft/index.ts'
import type { ChangeRefusal, MemberChange, MembersChanged } from '../../../raft/index.ts'
import { memberObjectsLevel } from '../../../src/store/machine/feature-level.ts'
import type { World } from '../world.ts'
import { ask } from './connection.ts'
import type { Served } from './served.ts'

export type OperatorOptions = {
  readonly world: World
  readonly serving: () => readonly Served[]
}

/** The outcome of a change, reported once to its requester. */
export type ChangeOutcome =
  | { readonly kind: 'done'; readonly changed: MembersChanged; readonly tries: number }
  | { readonly kind: 'refused'; readonly reason: ChangeRefusal }

type ChangeRequest = {
  readonly change: MemberChange
  readonly then: (outcome: ChangeOutcome) => void
  /** When it was answered, in virtual ms; null: not yet. */
  answeredMs: number | null
}

const timeoutMs = 1_000
const againMs = 150
/** A try with a lost response waits at some leader, or in transit, for at most this long. */
const lateMsMax = 8_000

/**
 * Changes the members as an operator would: sends a request to any of them and retries elsewhere
 * until one responds.
 */
export class Operator {
  readonly #options: OperatorOptions
  readonly #random: SeededRandom
  #requests: ChangeRequest[] = []

  constructor(options: OperatorOptions) {
    this.#options = options
    this.#random = options.world.random.fork()
  }

  /** Changes that may still be made: pending ones, and old requests in transit. */
  get changes(): readonly MemberChange[] {
    const since = this.#options.world.now - lateMsMax
    this.#requests = this.#requests.filter(({ answeredMs }) => answeredMs === null || answeredMs > since)
    return this.#requests.map(({ change }) => change)
  }

  /** Changes without an outcome yet. */
  get waiting(): readonly MemberChange[] {
    return this.#requests.filter(({ answeredMs }) => answeredMs === null).map(({ change }) => change)
  }

  request(change: MemberChange, then: (outcome: ChangeOutcome) => void): void {
    const request: ChangeRequest = { change, then, answeredMs: null }
    this.#requests.push(request)
    this.#try(request, 1).catch((cause: unknown) => this.#options.world.fail(cause))
  }

  async #try(request: ChangeRequest, tries: number): Promise<void> {
    const { world, serving } = this.#options
    const able = serving().filter((served) => isReady(served, request.change))
    const outcome = able.length === 0 ? null : await this.#ask(this.#random.pick(able), request.change, tries)
    if (outcome === null) {
      world.schedule(againMs, 'operator asks again', null, () => {
        this.#try(request, tries + 1).catch((cause: unknown) => world.fail(cause))
      })
      return
    }
    request.answeredMs = world.now
    request.then(outcome)
  }

  /** @returns null: no response, or an inconclusive one */
  async #ask(at: Served, change: MemberChange, tries: number): Promise<ChangeOutcome | null> {
    const { world } = this.#options
    const result = await ask(
      world,
      this.#random,
      { served: at, timeoutMs },
      async ({ instance }, { deadlineMs }) => {
        try {
          const changed = await instance.node.changeMembers(change, deadlineMs)
          return { kind: 'done', changed, tries } as const
        } catch (cause) {
          if (cause instanceof MembershipError) return { kind: 'refused', reason: cause.code } as const
          if (cause instanceof ConsensusError) return null
          throw cause
        }
      },
    )
    if (result.kind === 'threw') throw result.cause
    return result.kind === 'lost' ? null : result.value
  }
}

/** Members may join from the feature level on at which every program can decode their fields. */
function isReady({ store, gone }: Served, { kind }: MemberChange): boolean {
  return !gone && (kind !== 'add' || store.featureLevel >= memberObjectsLevel)
}
