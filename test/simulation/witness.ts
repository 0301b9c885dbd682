import { BrokenInvariant } from '../../raft/base/assert.ts'
import type { PeerMessage, LogStore } from '../../raft/ports.ts'
import type { LogToRaft, RaftToLog } from '../../raft/log/log-protocol.ts'
import type { RaftToApi } from '../../raft/node/protocol.ts'
import type { View } from '../../src/store/object-store.ts'
import type { StoreMachine } from '../../src/store/store-machine.ts'
import { ClientHistory } from './checkers/client-history.ts'
import { ElectionSafety } from './checkers/election-safety.ts'
import { EqualState } from './checkers/equal-state.ts'
import { LogSafety } from './checkers/log-safety.ts'
import type { Member, Watcher } from './process.ts'
import type { Swarm } from './swarm.ts'
import { bootstrapCommand, Workload } from './workload.ts'
import { Watching } from './watcher.ts'
import type { World } from './world.ts'

export type WitnessOptions = {
  readonly world: World
  readonly swarm: Swarm
  readonly barrier: 'used' | 'skipped'
}

export type WitnessReport = {
  readonly reigns: number
  readonly committed: number
  readonly acknowledged: number
  readonly unknown: number
  readonly reads: number
  readonly comparedStates: number
  readonly watched: number
  readonly snapshots: number
}

/**
 * Clients, and all that looks on: what the members, the network and the clients do passes here, and the checkers are
 * asked at once. A finding ends the run.
 */
export class Witness implements Watcher {
  readonly #options: WitnessOptions
  readonly #elections = new ElectionSafety()
  readonly #logs = new LogSafety()
  readonly #states = new EqualState()
  readonly #history = new ClientHistory()
  #members: readonly Member[] = []
  #workload: Workload | null = null
  #watchers: readonly Watching[] = []
  #snapshots = 0

  constructor(options: WitnessOptions) {
    this.#options = options
  }

  /** Clients begin; they create the cluster too. */
  start(members: readonly Member[]): void {
    const { world, swarm, barrier } = this.#options
    this.#members = members
    this.#workload = new Workload({
      world,
      members,
      history: this.#history,
      clients: swarm.clients,
      thinkMsMax: swarm.thinkMsMax,
      payloadBytesMax: swarm.payloadBytesMax,
      barrier,
    })
    this.#watchers = ['a', 'b'].map((name) => new Watching(name, world, members))
    this.#bootstrap()
    this.#workload.start()
    for (const watcher of this.#watchers) watcher.start()
  }

  /** No more load; what is under way may end, and watchers go on. */
  stop(): void {
    this.#workload?.stop()
  }

  /** One write and one most recent read through a member. @returns whether both were answered within `timeoutMs` each */
  async serves(member: Member, timeoutMs: number): Promise<boolean> {
    const workload = this.#workload
    if (workload === null) return false
    return (await workload.write(member, 10, timeoutMs)) && (await workload.read(member, timeoutMs))
  }

  /** Every watcher has been told all there is. */
  caughtUp(): boolean {
    return this.#watchers.every(({ history }) => history.last === this.#view()?.revision)
  }

  /** When nothing happens any more and all members run: what can only be judged of a whole history. */
  final(): void {
    for (const { id, life } of this.#members) {
      if (life?.store === null || life?.store === undefined) throw new BrokenInvariant('all members run')
      this.#history.final(id, life.store.view())
    }
    const last = this.#view()
    if (last !== undefined) for (const { history } of this.#watchers) history.final(last)
  }

  report(): WitnessReport {
    return {
      reigns: this.#elections.reigns,
      committed: this.#logs.committedCount,
      acknowledged: this.#history.acknowledged,
      unknown: this.#history.unknown,
      reads: this.#history.reads,
      comparedStates: this.#states.compared,
      watched: this.#watchers.reduce((sum, { history }) => sum + history.last, 0),
      snapshots: this.#snapshots,
    }
  }

  /** A message between members, as it is sent. */
  message(message: PeerMessage): void {
    if (message.kind !== 'core' || message.message.kind !== 'append-request') return
    this.#elections.leads(message.message.from, message.message.term)
  }

  opened(member: number, log: LogStore): void {
    this.#states.started(member)
    this.#logs.opened(member, log)
  }

  /** A process can be asked from now on. @returns what is closed when the process stops in order */
  serving(): () => void {
    return () => undefined
  }

  toLog(member: number, message: RaftToLog): void {
    this.#logs.wrote(member, message)
  }

  fromLog(member: number, message: LogToRaft): void {
    this.#logs.answered(member, message)
  }

  toApi(member: number, message: RaftToApi): void {
    if (message.kind === 'install') this.#snapshots++
    if (message.kind === 'committed') this.#logs.commits(member, message.commit)
    if (message.kind === 'status' && message.status.role === 'leader') {
      this.#elections.leads(member, message.status.term)
      this.#logs.leads(member, message.status.term)
    }
  }

  applied(member: number, machine: StoreMachine): void {
    this.#states.applied(member, machine.appliedMemory, machine.digest)
  }

  #view(): View | undefined {
    return this.#members[0]?.life?.store?.view()
  }

  #bootstrap(): void {
    const again = (): void => this.#options.world.schedule(50, 'bootstrap', null, () => this.#bootstrap())
    const life = this.#members[0]?.life
    if (life?.store === null || life?.store === undefined) again()
    else if (life.store.identity === null) {
      const deadline = life.clock.monotonicMs() + 1_000
      life.store.write(bootstrapCommand(), deadline).then(() => undefined, again)
    }
  }
}
