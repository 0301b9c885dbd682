import { assert } from '../../base/assert.ts'
import type { Configuration } from '../../raft/index.ts'
import { Finding } from './checkers/finding.ts'
import type { Memberships } from './checkers/memberships.ts'
import { judge } from './checkers/judge.ts'
import { checkPrefix } from './checkers/state-prefix.ts'
import type { StorageEvent } from './checkers/storage-model.ts'
import { History } from './clients/history.ts'
import type { Answer } from './clients/history.ts'
import { ClientPool, burstClientsFrom } from './clients/client-pool.ts'
import type { Served } from './clients/served.ts'
import { ConsensusWatcher } from './consensus-watcher.ts'
import type { Proven } from './coverage.ts'
import type { ProcessInstance, Serving } from './process-instance.ts'
import type { Member } from './member.ts'
import type { Swarm } from './swarm.ts'
import type { World } from './world.ts'

export type OracleOptions = {
  readonly world: World
  readonly swarm: Swarm
  /** The initial members, with which the logs of all founders begin. */
  readonly founding: Configuration
  /** `skipped`: reads are served without the read barrier, to show that the checkers detect it. */
  readonly barrier: 'used' | 'skipped'
}

export type OracleReport = {
  readonly leaderships: number
  readonly committed: number
  /** The calls of clients during the faults, and how many got a definite response. */
  readonly asked: number
  readonly answered: number
  readonly acknowledged: number
  readonly unknown: number
  readonly reads: number
  readonly comparedStates: number
  readonly watched: number
  readonly snapshots: number
  readonly expired: number
  readonly pages: number
  readonly undecided: number
}

/**
 * Runs the clients, and observes everything: what members, network and clients do is passed to the
 * checkers here. Claims about single events are checked at once, those about a whole history in
 * `final`. A finding ends the run.
 */
export class Oracle extends ConsensusWatcher {
  readonly #history: History
  readonly #clientPool: ClientPool
  #members: readonly Member[] = []
  #undecided = 0
  #duringFaults = { asked: 0, answered: 0 }

  constructor(options: OracleOptions) {
    super(options.founding)
    const { truth } = this
    const newest = (): { revision: number; trimmed: number } => ({
      revision: truth.revision,
      trimmed: truth.trimmed,
    })
    const { world, swarm, barrier } = options
    this.#history = new History(newest, () => world.now)
    this.#clientPool = new ClientPool({ world, swarm, barrier, history: this.#history, newest })
  }

  /** The committed membership. */
  get memberships(): Memberships {
    return this.consensus.memberships
  }

  /** The committed configuration, and those that may still be committed. */
  get configurations(): readonly Configuration[] {
    return this.consensus.configurations
  }

  /** Serving processes, in order of their members. */
  get served(): readonly Served[] {
    return this.#clientPool.served
  }

  /** Returns the number of watches that were resumed at one of these members. */
  resumedAt(members: ReadonlySet<number>): number {
    const { watches } = this.#history
    return watches.filter(({ member, start, events }) => {
      return start.kind === 'after' && events.length > 0 && members.has(member)
    }).length
  }

  /** Sends a burst of calls to one member. */
  burst(member: number, what: 'read' | 'write', calls: number): void {
    this.#clientPool.burst(member, what, calls)
  }

  /** Starts the clients. */
  start(members: readonly Member[]): void {
    this.#members = members
    this.#clientPool.start()
  }

  /** Called when the faults end. */
  calm(): void {
    this.#clientPool.calm()
    // Bursts go to members that may not respond.
    const calls = this.#history.calls.filter(({ client }) => client < burstClientsFrom)
    const answered = calls.filter(({ answer }) => answer.kind !== 'unknown' && !isUnavailable(answer)).length
    this.#duringFaults = { asked: calls.length, answered }
  }

  /** Stops new calls; calls in flight may end, and watchers continue. */
  stop(): void {
    this.#clientPool.stop()
  }

  /**
   * Performs one write and one most recent read through a member.
   *
   * @returns whether both were answered, each in `timeoutMs`
   */
  proves(member: Member, timeoutMs: number): Promise<boolean> {
    return this.#clientPool.proves(member.id, timeoutMs)
  }

  /** From now on clients and watchers use only these members. */
  useOnly(healthy: readonly Member[]): void {
    this.#clientPool.useOnly(healthy.map(({ id }) => id))
  }

  /** Returns whether every watcher received all events of these healthy and equal members. */
  caughtUp(healthy: readonly Member[] = this.#members): boolean {
    const revision = healthy[0]?.instance?.machine?.state.revision
    return revision === this.truth.revision && this.#clientPool.caughtUp(revision)
  }

  /**
   * Checks the claims about the whole history, at the end.
   *
   * @param healthy running and equal members; others may be down or removed
   * @throws Finding
   */
  final(healthy: readonly Member[] = this.#members): void {
    this.checkEnd(healthy)
    this.memberships.end()
    this.judge()
    if (!this.caughtUp(healthy))
      throw new Finding('I22 reliable', 'a watcher did not receive the last changes')
  }

  /** Events of the storage quota. */
  get storageMet(): ReadonlySet<StorageEvent> {
    return this.truth.storage.met
  }

  /**
   * How the responses to clients were proven, one for each response, and for each watch that began.
   */
  get proven(): readonly Proven[] {
    const { calls, watches } = this.#history
    return [
      ...calls.flatMap(({ proof }) => (proof === null ? [] : [`read ${proof.mode}` as const])),
      ...watches.flatMap(({ proof }) => (proof === null ? [] : [`watch ${proof.mode}` as const])),
    ]
  }

  /** Checks the histories of clients. @throws Finding */
  judge(): void {
    this.#undecided = judge(this.#history, this.truth).undecided
  }

  report(): OracleReport {
    const { calls, watches } = this.#history
    const answers = (kind: string): number => calls.filter(({ answer }) => answer.kind === kind).length
    const events = watches.flatMap((watch) => watch.events)
    return {
      leaderships: this.consensus.leaderTerms,
      committed: this.truth.index,
      ...this.#duringFaults,
      acknowledged: calls.filter(({ request, answer }) => 'token' in request && isDone(answer.kind)).length,
      unknown: answers('unknown'),
      reads: calls.filter(({ request, answer }) => !('token' in request) && isDone(answer.kind)).length,
      comparedStates: this.states.compared,
      watched: events.length,
      snapshots: this.snapshots,
      expired:
        calls.filter(({ answer }) => answer.kind === 'refused' && answer.reason === 'Expired').length +
        events.filter((event) => event.kind === 'ERROR' && event.reason === 'Expired').length,
      pages: calls.filter(
        ({ request, answer }) => request.kind === 'list' && request.page > 0 && isDone(answer.kind),
      ).length,
      undecided: this.#undecided,
    }
  }

  serving(member: number, instance: ProcessInstance): Serving {
    const { machine, store } = instance
    assert(machine !== null && store !== null, 'a serving member has a state')
    checkPrefix(member, machine.state, this.truth)
    return this.#clientPool.serving({ member, instance, machine, store })
  }
}

/** Returns whether a refusal shows that the member could not serve the call at that time. */
function isUnavailable(answer: Answer): boolean {
  return answer.kind === 'refused' && unavailable.has(answer.reason)
}

const unavailable: ReadonlySet<string> = new Set([
  ...(['ServiceUnavailable', 'Timeout', 'ServerTimeout', 'TooManyRequests', 'InternalError'] as const),
  ...(['not-leader', 'timed-out', 'overloaded', 'stopped', 'quarantined'] as const),
])

function isDone(kind: string): boolean {
  return kind === 'object' || kind === 'done' || kind === 'list'
}
