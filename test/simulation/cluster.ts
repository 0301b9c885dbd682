import { BrokenInvariant } from '../../raft/base/assert.ts'
import { nodeId } from '../../raft/index.ts'
import type { MemberInfo } from '../../raft/index.ts'
import type { LogDisk } from '../../raft/ports.ts'
import type { View } from '../../src/store/object-store.ts'
import { ClientHistory } from './checkers/client-history.ts'
import { ElectionSafety } from './checkers/election-safety.ts'
import { EqualState } from './checkers/equal-state.ts'
import { LogSafety } from './checkers/log-safety.ts'
import { Nemesis } from './nemesis.ts'
import { Network } from './network.ts'
import { Member } from './process.ts'
import type { Watcher } from './process.ts'
import { drawSwarm } from './swarm.ts'
import { bootstrapCommand, Workload } from './workload.ts'
import { Watching } from './watcher.ts'
import { World } from './world.ts'

export type RunOptions = {
  readonly seed: number
  readonly trace: ((line: string) => void) | null
  /** Virtual ms of faults; then everything heals and has to come together. */
  readonly faultsMs?: number
  /** Deliberate mistakes, each of which some checker has to find. */
  readonly barrier?: 'used' | 'skipped'
  readonly disk?: 'honest' | 'forgets-syncs'
}

export type RunReport = {
  readonly seed: number
  readonly traceHash: string
  readonly events: number
  readonly virtualMs: number
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
 * One cluster, one seed: harm and load together, then peace, in which all members have to reach the same
 * state
 * and serve again.
 * @throws what a checker found
 */
export async function runSeed(options: RunOptions): Promise<RunReport> {
  const cluster = new Cluster(options)
  return cluster.run()
}

class Cluster {
  readonly #options: RunOptions
  readonly #world: World
  readonly #network: Network
  readonly #members: readonly Member[]
  readonly #workload: Workload
  readonly #nemesis: Nemesis
  readonly #watchers: readonly Watching[]
  readonly #elections = new ElectionSafety()
  readonly #logs = new LogSafety()
  readonly #states = new EqualState()
  readonly #history = new ClientHistory()
  #snapshots = 0

  constructor(options: RunOptions) {
    this.#options = options
    const world = new World(options)
    this.#world = world
    const swarm = drawSwarm(world.random.fork())
    this.#network = new Network(world, swarm.network, (message) => {
      if (message.kind !== 'core' || message.message.kind !== 'append-request') return
      this.#elections.leads(message.message.from, message.message.term)
    })
    const members: MemberInfo[] = Array.from({ length: swarm.members }, (_, at) => memberInfo(at + 1))
    this.#members = members.map(
      ({ id }) =>
        new Member({
          world,
          network: this.#network,
          watcher: this.#watcher(),
          swarm,
          node: { id, members, timing: swarm.timing, limits: swarm.limits },
          wrapDisk: options.disk === 'forgets-syncs' ? forgetful : (disk) => disk,
        }),
    )
    this.#workload = new Workload({
      world,
      members: this.#members,
      history: this.#history,
      clients: swarm.clients,
      thinkMsMax: swarm.thinkMsMax,
      payloadBytesMax: swarm.payloadBytesMax,
      barrier: options.barrier ?? 'used',
    })
    this.#watchers = ['a', 'b'].map((name) => new Watching(name, world, this.#members))
    this.#nemesis = new Nemesis({ world, network: this.#network, members: this.#members, swarm })
  }

  async run(): Promise<RunReport> {
    const world = this.#world
    for (const member of this.#members) member.start()
    this.#bootstrap()
    this.#workload.start()
    this.#nemesis.start()
    for (const watcher of this.#watchers) watcher.start()
    await world.runUntil(this.#options.faultsMs ?? 12_000)
    this.#nemesis.stop()
    // Stragglers of the bad times: pauses, late messages, requests.
    await world.runUntil(world.now + 5_000)
    this.#workload.stop()
    await this.#settle()
    for (const member of this.#members) {
      const { life } = member
      if (life?.store === null || life?.store === undefined) throw new BrokenInvariant('all members run')
      this.#history.final(member.id, life.store.view())
    }
    // Each may have to find a member, and to read from its disk.
    const view = (): View | undefined => this.#members[0]?.life?.store?.view()
    const caughtUp = (): boolean => this.#watchers.every(({ history }) => history.last === view()?.revision)
    await world.runUntil(world.now + 30_000, () => world.events % 50 === 0 && caughtUp())
    const last = view()
    if (last !== undefined) for (const { history } of this.#watchers) history.final(last)
    return this.#report()
  }

  /** Liveness: with nothing in the way, each member writes and reads, and all come to one state. */
  async #settle(): Promise<void> {
    const world = this.#world
    const limit = world.now + 30_000
    let served = 0
    for (const member of this.#members) this.#serve(member, limit, () => served++)
    await world.runUntil(limit, () => served === this.#members.length)
    if (served < this.#members.length) this.#apart('a healed cluster does not serve')
    const equal = (): boolean => {
      const places = this.#members.map((member) => {
        const machine = member.life?.machine
        return `${machine?.appliedMemory} ${machine?.digest}`
      })
      return new Set(places).size === 1
    }
    await world.runUntil(world.now + 10_000, () => world.events % 50 === 0 && equal())
    if (!equal()) this.#apart('the members of a healed cluster stay apart')
  }

  #apart(what: string): never {
    const lines = this.#members.map((member) => {
      const { status, load } = member.life?.node ?? {}
      if (status === undefined) return `member ${member.id} does not run`
      const { role, term, leader, commit, lastIndex, persistedIndex, appliedMemory, followers } = status
      return JSON.stringify({
        id: member.id,
        role,
        term,
        leader,
        commit,
        lastIndex,
        persistedIndex,
        appliedMemory,
        load,
        followers,
      })
    })
    throw new BrokenInvariant(['liveness: ' + what, ...lines].join('\n'))
  }

  #serve(member: Member, limit: number, done: () => void): void {
    const act = async (): Promise<boolean> =>
      (await this.#workload.write(member, 10, 5_000)) && (await this.#workload.read(member, 5_000))
    act().then(
      (ok) => {
        if (ok) done()
        else if (this.#world.now < limit) {
          this.#world.schedule(100, 'served again', null, () => this.#serve(member, limit, done))
        }
      },
      (cause: unknown) => this.#world.fail(cause),
    )
  }

  #bootstrap(): void {
    const again = (): void => this.#world.schedule(50, 'bootstrap', null, () => this.#bootstrap())
    const store = this.#members[0]?.life?.store
    if (store === null || store === undefined) again()
    else if (store.identity === null) {
      const { clock } = this.#members[0]?.life ?? {}
      store.write(bootstrapCommand(), (clock?.monotonicMs() ?? 0) + 1_000).then(() => undefined, again)
    }
  }

  #watcher(): Watcher {
    return {
      opened: (member, log) => {
        this.#states.started(member)
        this.#logs.opened(member, log)
      },
      toLog: (member, message) => this.#logs.wrote(member, message),
      fromLog: (member, message) => this.#logs.answered(member, message),
      toApi: (member, message) => {
        if (message.kind === 'install') this.#snapshots++
        if (message.kind === 'committed') this.#logs.commits(member, message.commit)
        if (message.kind === 'status' && message.status.role === 'leader') {
          this.#elections.leads(member, message.status.term)
          this.#logs.leads(member, message.status.term)
        }
      },
      applied: (member, machine) => this.#states.applied(member, machine.appliedMemory, machine.digest),
    }
  }

  #report(): RunReport {
    return {
      seed: this.#options.seed,
      traceHash: this.#world.traceHash,
      events: this.#world.events,
      virtualMs: Math.round(this.#world.now),
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
}

function memberInfo(id: number): MemberInfo {
  return {
    id: nodeId(id),
    name: `m${id}`,
    role: 'voter',
    wantedRole: 'voter',
    peerAddress: `m${id}:1`,
    clientAddress: `m${id}:2`,
    version: '0',
    featureLevel: 1,
  }
}

/** Says that everything is durable, and syncs nothing. */
function forgetful(disk: LogDisk): LogDisk {
  return {
    list: () => disk.list(),
    open: (name, mode) => {
      const file = disk.open(name, mode)
      return {
        size: () => file.size(),
        read: (position, length) => file.read(position, length),
        write: (position, bytes) => file.write(position, bytes),
        truncate: (length) => file.truncate(length),
        sync: () => undefined,
        close: () => file.close(),
      }
    },
    rename: (from, to) => disk.rename(from, to),
    remove: (name) => disk.remove(name),
    syncDirectory: () => disk.syncDirectory(),
  }
}
