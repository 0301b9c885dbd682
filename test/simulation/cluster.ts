import { BrokenInvariant } from '../../raft/base/assert.ts'
import { nodeId } from '../../raft/index.ts'
import type { MemberInfo } from '../../raft/index.ts'
import type { LogDisk } from '../../raft/ports.ts'
import { Nemesis } from './nemesis.ts'
import { Network } from './network.ts'
import { Member } from './process.ts'
import { drawSwarm } from './swarm.ts'
import { Witness } from './witness.ts'
import type { WitnessReport } from './witness.ts'
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

export type RunReport = WitnessReport & {
  readonly seed: number
  readonly traceHash: string
  readonly events: number
  readonly virtualMs: number
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
  readonly #nemesis: Nemesis
  readonly #witness: Witness

  constructor(options: RunOptions) {
    this.#options = options
    const world = new World(options)
    this.#world = world
    const swarm = drawSwarm(world.random.fork())
    const witness = new Witness({ world, swarm, barrier: options.barrier ?? 'used' })
    this.#witness = witness
    this.#network = new Network(world, swarm.network, (message) => witness.message(message))
    const members: MemberInfo[] = Array.from({ length: swarm.members }, (_, at) => memberInfo(at + 1))
    this.#members = members.map(
      ({ id }) =>
        new Member({
          world,
          network: this.#network,
          watcher: witness,
          swarm,
          node: { id, members, timing: swarm.timing, limits: swarm.limits },
          wrapDisk: options.disk === 'forgets-syncs' ? forgetful : (disk) => disk,
        }),
    )
    this.#nemesis = new Nemesis({ world, network: this.#network, members: this.#members, swarm })
  }

  async run(): Promise<RunReport> {
    const world = this.#world
    for (const member of this.#members) member.start()
    this.#witness.start(this.#members)
    this.#nemesis.start()
    await world.runUntil(this.#options.faultsMs ?? 12_000)
    this.#nemesis.stop()
    // Stragglers of the bad times: pauses, late messages, requests.
    await world.runUntil(world.now + 5_000)
    this.#witness.stop()
    await this.#settle()
    // Each watcher may have to find a member, and to read from its disk.
    await world.runUntil(world.now + 30_000, () => world.events % 50 === 0 && this.#witness.caughtUp())
    this.#witness.final()
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
    this.#witness.serves(member, 5_000).then(
      (ok) => {
        if (ok) done()
        else if (this.#world.now < limit) {
          this.#world.schedule(100, 'served again', null, () => this.#serve(member, limit, done))
        }
      },
      (cause: unknown) => this.#world.fail(cause),
    )
  }

  #report(): RunReport {
    return {
      seed: this.#options.seed,
      traceHash: this.#world.traceHash,
      events: this.#world.events,
      virtualMs: Math.round(this.#world.now),
      ...this.#witness.report(),
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
