import { assert } from '../../base/assert.ts'
import type { Clock, Timer } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import type { Consensus } from '../../raft/index.ts'
import type { Names } from '../api/metadata/names.ts'
import type { ClusterIdentity, Operation, Outcome, Settings } from '../store/command.ts'
import { StoreError } from '../store/store-errors.ts'
import { memberObjectsLevel } from '../store/machine/feature-level.ts'
import type { ObjectStore } from '../store/object-store.ts'

export type BootstrapDependencies = {
  readonly store: ObjectStore
  readonly consensus: Consensus<Outcome>
  readonly clock: Clock
  readonly random: Random
  readonly names: Names
  /** Returns writes of the first objects, each with its own condition. */
  readonly operations: () => readonly Operation[]
  readonly fingerprints: Readonly<Record<string, string>>
  readonly settings: Settings
  /** The feature level that the cluster begins with. */
  readonly featureLevel: number
}

const periodMs = 50
const proposalMsMax = 5000

/**
 * Gives a new cluster its identity, settings and first objects. Only the leader proposes them; of
 * two proposals the second has no effect at apply, so every member ends with the same.
 */
export class Bootstrap {
  readonly #dependencies: BootstrapDependencies
  readonly #known: Promise<ClusterIdentity>
  #resolveIdentity: (identity: ClusterIdentity) => void = () => undefined
  #timer: Timer | null = null
  #stopListening: () => void = () => undefined
  #proposing = false

  constructor(dependencies: BootstrapDependencies) {
    this.#dependencies = dependencies
    this.#known = new Promise((resolve) => {
      this.#resolveIdentity = resolve
    })
  }

  /** Resolves when this member has applied the command that gives the cluster its identity. */
  get identity(): Promise<ClusterIdentity> {
    return this.#known
  }

  /** @param onFailure called with an unexpected error */
  start(onFailure: (cause: unknown) => void): void {
    const look = (): void => {
      const { identity } = this.#dependencies.store
      if (identity !== null) {
        this.stop()
        this.#resolveIdentity(identity)
      } else if (!this.#proposing && this.#dependencies.consensus.status.role === 'leader' && this.#isNew()) {
        this.#proposing = true
        this.#propose()
          .catch(onFailure)
          .finally(() => {
            this.#proposing = false
            // A failed attempt waits for the next period: an immediate retry could occupy the
            // thread.
            if (this.#timer !== null && this.#dependencies.store.identity !== null) look()
          })
      }
    }
    this.#timer = this.#dependencies.clock.every(periodMs, look)
    this.#stopListening = this.#onLeading(look)
    look()
  }

  /** Calls `listener` when this member begins to lead. @returns a function that unsubscribes it */
  #onLeading(listener: () => void): () => void {
    let isLeading = false
    return this.#dependencies.consensus.onStatus(({ role }) => {
      if ((role === 'leader') === isLeading) return
      isLeading = !isLeading
      if (isLeading) listener()
    })
  }

  stop(): void {
    this.#stopListening()
    this.#timer?.cancel()
    this.#timer = null
  }

  /**
   * Returns whether the cluster has no identity. In quarantine the identity is hidden, not missing.
   * Other writes may precede it: they do not found the cluster.
   */
  #isNew(): boolean {
    const { store } = this.#dependencies
    try {
      store.view()
      return store.identity === null
    } catch (cause) {
      if (cause instanceof StoreError) return false
      throw cause
    }
  }

  async #propose(): Promise<void> {
    const { store, consensus, clock, random, names, operations } = this.#dependencies
    const { fingerprints, settings, featureLevel } = this.#dependencies
    const { clusterId } = consensus
    assert(clusterId !== null, 'a leader leads a founded cluster')
    const identity: ClusterIdentity = {
      clusterId,
      apiDomain: names.domain,
      continueTokenKey: random.bytes(32),
      keyFingerprints: fingerprints,
    }
    // An object that exists already would have the whole command refused.
    const view = store.view()
    const missing = operations().filter(({ key }) => view.get(key) === null)
    const { members } = consensus.status.decided
    const founding = { members, atMs: Math.floor(clock.wallMs()) }
    try {
      await store.write(
        {
          ...{ kind: 'bootstrap', identity, settings, operations: missing, featureLevel },
          ...(featureLevel < memberObjectsLevel ? {} : { founding }),
        },
        clock.monotonicMs() + proposalMsMax,
      )
    } catch (cause) {
      // No quorum yet, or leadership moved: the next attempt decides again.
      if (!(cause instanceof StoreError)) throw cause
    }
  }
}
