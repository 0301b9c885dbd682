import { LogActor } from '../../raft/log/log-actor.ts'
import type { ApiToLog, LogToApi, LogToRaft, RaftToLog } from '../../raft/log/log-protocol.ts'
import { Wal } from '../../raft/log/wal.ts'
import { ChannelLogReader } from '../../raft/node/log-reader.ts'
import { MemoryPeerBook } from '../../raft/node/acquaintances.ts'
import { RaftNode } from '../../raft/node/node.ts'
import type { NodeOptions } from '../../raft/node/options.ts'
import type { ApiToRaft, RaftToApi } from '../../raft/node/protocol.ts'
import { RaftActor } from '../../raft/node/raft-actor.ts'
import type { LogDisk, LogStore } from '../../raft/ports.ts'
import type { Outcome } from '../../src/store/command.ts'
import { StoreMachine } from '../../src/store/store-machine.ts'
import { Store } from '../../src/store/store.ts'
import { simChannel } from './channel.ts'
import { SimClock } from './clock.ts'
import { SimulatedCrash, SimulatedDisk } from './disk.ts'
import { SimKeyValueDisk } from './kv.ts'
import type { Network, SimTransport } from './network.ts'
import type { Swarm } from './swarm.ts'
import type { Owner, World } from './world.ts'

/** What checkers are told of one member, as it happens. */
export interface Watcher {
  opened(member: number, log: LogStore): void
  toLog(member: number, message: RaftToLog): void
  fromLog(member: number, message: LogToRaft): void
  toApi(member: number, message: RaftToApi): void
  applied(member: number, machine: StoreMachine): void
  /** The store can be asked. @returns what to do when the process stops in order, before its node does */
  serving(member: number, life: Life): () => void
}

export type MemberOptions = {
  readonly world: World
  readonly network: Network
  readonly watcher: Watcher
  readonly swarm: Swarm
  readonly node: NodeOptions
  /** What the log sees of its disk: for disks that lie. */
  readonly wrapDisk: (disk: LogDisk) => LogDisk
}

/** A process that runs. */
export type Life = {
  readonly owners: readonly Owner[]
  readonly transport: SimTransport
  readonly node: RaftNode<Outcome>
  readonly clock: SimClock
  /** Both null until the database is open. */
  machine: StoreMachine | null
  store: Store | null
  closeServing: () => void
}

/** One member: disks that last, and a process of the shipped code that comes and goes. */
export class Member {
  readonly id: number
  readonly #options: MemberOptions
  readonly #disk: SimulatedDisk
  readonly #database: SimKeyValueDisk
  #failing = false
  #healed = false
  life: Life | null = null

  constructor(options: MemberOptions) {
    this.#options = options
    this.id = options.node.id
    this.#disk = new SimulatedDisk(options.world.random.fork())
    this.#database = new SimKeyValueDisk(options.world, options.swarm.keyValueDelays)
  }

  get running(): boolean {
    return this.life !== null
  }

  start(): void {
    const { world, network, swarm, node, watcher } = this.#options
    const owner = (role: string): Owner => ({
      name: `m${this.id}.${role}`,
      alive: true,
      pausedUntil: 0,
      caught: (cause) => this.#caught(cause),
      waiting: [],
    })
    const [api, raft, log] = [owner('api'), owner('raft'), owner('log')]
    const apiRaft = simChannel<ApiToRaft, RaftToApi>({
      world,
      ownerA: api,
      ownerB: raft,
      label: 'api-raft',
      delays: swarm.apiDelays,
      tapBtoA: (message) => watcher.toApi(this.id, message),
    })
    const raftLog = simChannel<RaftToLog, LogToRaft>({
      world,
      ownerA: raft,
      ownerB: log,
      label: 'raft-log',
      delays: swarm.logDelays,
      tapAtoB: (message) => watcher.toLog(this.id, message),
      tapBtoA: (message) => watcher.fromLog(this.id, message),
    })
    const apiLog = simChannel<ApiToLog, LogToApi>({
      world,
      ownerA: api,
      ownerB: log,
      label: 'api-log',
      delays: swarm.logDelays,
    })
    const transport = network.attach(node.id, raft)
    const clock = new SimClock(world, api, 'api')
    const raftNode = new RaftNode<Outcome>({
      node,
      clock,
      random: world.random.fork(),
      peerBook: new MemoryPeerBook(),
      raft: apiRaft.a,
      reader: new ChannelLogReader(apiLog.a),
      onFatal: (cause) => this.#gaveUp(cause),
      onPeerEvent: null,
      close: async () => undefined,
    })
    const life: Life = {
      owners: [api, raft, log],
      transport,
      node: raftNode,
      clock,
      machine: null,
      store: null,
      closeServing: () => undefined,
    }
    this.life = life
    new RaftActor({
      node,
      clock: new SimClock(world, raft, 'raft'),
      random: world.random.fork(),
      transport,
      api: apiRaft.b,
      log: raftLog.a,
    }).begin()
    world.schedule(0, 'open', log, () => this.#openLog(log, raftLog.b, apiLog.b))
    this.#openMachine(life, api).catch((cause: unknown) => {
      if (api.alive) world.fail(cause)
    })
  }

  /** The power goes, or only the process. */
  crash(kind: 'power' | 'process'): void {
    const { life } = this
    if (life === null) return
    this.life = null
    this.#failing = false
    for (const owner of life.owners) owner.alive = false
    void life.transport.close()
    if (kind === 'power') this.#disk.crash()
    else this.#disk.kill()
    this.#database.crash()
    if (!this.#healed) return
    this.#options.world.schedule(50, `m${this.id} starts again`, null, () => {
      if (!this.running) this.start()
    })
  }

  /** The process ends in the middle of a write, a few from now. */
  crashWithinDisk(steps: number): void {
    this.#disk.crashAfter(steps)
  }

  /** The next sync, or write, of the log fails: the process has to end by itself. */
  failDisk(operation: 'sync' | 'write', code: 'io' | 'disk-full'): void {
    this.#failing = true
    this.#disk.fail(operation, code)
  }

  /** As an operator stops it: leadership away, everything closed in order. */
  async stop(): Promise<void> {
    const { life } = this
    if (life === null) return
    life.closeServing()
    await life.node.stop(life.clock.monotonicMs() + 300)
    life.store?.close()
    await life.machine?.close()
    if (this.life === life) this.crash('process')
  }

  /** No new harm: runs, and runs again should it still be ending from earlier harm. */
  heal(): void {
    this.#healed = true
    this.#disk.heal()
    this.#database.calm()
    if (!this.running) this.start()
  }

  /** Nothing of it, or one of its threads only, goes on for a while. */
  pause(thread: 'all' | 'api' | 'raft' | 'log', untilMs: number): void {
    for (const owner of this.life?.owners ?? []) {
      if (thread !== 'all' && !owner.name.endsWith(thread)) continue
      owner.pausedUntil = Math.max(owner.pausedUntil, untilMs)
    }
  }

  #openLog(
    owner: Owner,
    raft: ConstructorParameters<typeof LogActor>[0]['raft'],
    api: ConstructorParameters<typeof LogActor>[0]['api'],
  ): void {
    const { world, watcher, wrapDisk } = this.#options
    const store = Wal.open({
      disk: wrapDisk(this.#disk),
      random: world.random.fork(),
      segmentBytes: segmentBytes,
      aheadBytes: 4_096,
    })
    watcher.opened(this.id, store)
    const clock = new SimClock(world, owner, 'log')
    const onFailed = (): void => undefined
    new LogActor({ store, raft, api, clock, prepare: () => store.prepare(), onFailed }).start()
  }

  async #openMachine(life: Life, api: Owner): Promise<void> {
    const { swarm, watcher, world } = this.#options
    const { base, lastIndex } = await life.node.recovered
    const machine = await StoreMachine.open({
      home: this.#database.mount(api),
      clock: life.clock,
      limits: swarm.storeLimits,
      logBase: base,
      logLast: lastIndex,
      onFailure: (cause) => world.fail(cause),
    })
    machine.onApplied(() => watcher.applied(this.id, machine))
    life.machine = machine
    life.store = new Store({ consensus: life.node, machine, clock: life.clock, limits: swarm.storeLimits })
    await life.node.start(machine)
    if (this.life === life) life.closeServing = watcher.serving(this.id, life)
  }

  #gaveUp(cause: string): void {
    if (this.#failing) this.crash('power')
    else this.#options.world.fail(new Error(`member ${this.id} gave up: ${cause}`))
  }

  /** A simulated crash surfaces where the disk was used; it ends the whole process. */
  #caught(cause: unknown): boolean {
    if (!(cause instanceof SimulatedCrash)) return false
    this.crash('power')
    return true
  }
}

/** Small, so that runs of seconds fill and remove many. */
const segmentBytes = 64 * 1024
