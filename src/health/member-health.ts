import type { Clock } from '../../base/clock.ts'
import type { Consensus } from '../../raft/index.ts'
import type { CaughtUp } from './caught-up.ts'
import { defaultHealthBounds, memberHealth } from './health.ts'
import type { Health } from './health.ts'
import type { Outcome } from '../store/command.ts'
import type { StoreMachine } from '../store/store-machine.ts'
import type { Store } from '../store/store.ts'
import type { StateWatch } from '../state-agreement/state-watch.ts'

export type HealthDependencies = {
  readonly clock: Clock
  /** For how long after the start `/livez` succeeds whatever the checks report, in ms. */
  readonly livezGraceMs: number
  readonly store: Store
  readonly machine: StoreMachine
  readonly consensus: Consensus<Outcome>
  readonly watch: StateWatch
  readonly caughtUp: CaughtUp
  /** Returns the names of the initial members that are missing for the cluster to be founded. */
  readonly foundingAwaits: () => readonly string[]
  /** Whether this member has applied the default roles and bindings. */
  readonly hasDefaultPolicy: () => boolean
  /** Returns why a key management service is not healthy, or null. */
  readonly kmsFailure: () => string | null
}

/** Returns the checks behind `/livez` and `/readyz`. */
export function watchHealth({
  clock,
  livezGraceMs,
  store,
  machine,
  consensus,
  watch,
  caughtUp,
  foundingAwaits,
  hasDefaultPolicy,
  kmsFailure,
}: HealthDependencies): Health {
  const silence = new ThreadSilence(consensus, clock)
  const startedMs = clock.monotonicMs()
  let isPolicySeen = false
  return memberHealth({
    consensus,
    clock,
    bounds: defaultHealthBounds,
    silentThread: () => silence.thread(),
    livezGraceMs,
    more: [
      {
        name: 'founding',
        live: false,
        isPublic: true,
        failure: () => {
          const names = foundingAwaits()
          return names.length === 0
            ? null
            : `the cluster is founded once all initial members take part: waiting for ${names.join(', ')}`
        },
      },
      {
        name: 'bootstrap',
        live: false,
        // A state that is not trusted has a check of its own.
        failure: () =>
          store.identity === null && machine.quarantine === null ? 'the cluster has no identity yet' : null,
      },
      {
        name: 'default-policy',
        live: false,
        failure: () => {
          // Checked only until the policy was seen, because an operator may delete parts of it
          // later, and for `policyAwaitedMsMax` at most.
          isPolicySeen ||= clock.monotonicMs() - startedMs > policyAwaitedMsMax || hasDefaultPolicy()
          return isPolicySeen ? null : 'the default roles and bindings are not stored yet'
        },
      },
      { name: 'state', live: false, failure: () => watch.guard.quarantineFailure() },
      { name: 'state-agreement', live: false, failure: () => watch.guard.agreementFailure() },
      // The name is upstream's. A restart does not help, so liveness does not depend on it.
      { name: 'kms-providers', live: false, failure: kmsFailure },
      { name: 'caught-up', live: false, failure: () => caughtUp.failure() },
    ],
  })
}

/**
 * Detects a thread that does not respond. The raft thread publishes its status about once a second,
 * more often when it has work.
 */
class ThreadSilence {
  readonly #clock: Clock
  #lastStatusMs: number

  constructor(consensus: Pick<Consensus<never>, 'onStatus'>, clock: Clock) {
    this.#clock = clock
    this.#lastStatusMs = clock.monotonicMs()
    consensus.onStatus(() => {
      this.#lastStatusMs = clock.monotonicMs()
    })
  }

  thread(): string | null {
    return this.#clock.monotonicMs() - this.#lastStatusMs > silenceMsMax ? 'raft' : null
  }
}

const silenceMsMax = 10_000
/** The leader of a new cluster stores the policy well within that time. */
const policyAwaitedMsMax = 30_000
