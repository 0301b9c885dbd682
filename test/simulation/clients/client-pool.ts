import type { SeededRandom } from '../../../base/random.ts'
import { namesOf } from '../../../src/api/metadata/names.ts'
import type { Store } from '../../../src/store/store.ts'
import type { StoreMachine } from '../../../src/store/store-machine.ts'
import type { ProcessInstance } from '../process-instance.ts'
import type { Swarm } from '../swarm.ts'
import type { World } from '../world.ts'
import { Administrator } from './administrator.ts'
import { Client, Tokens } from './client.ts'
import { CursorWatcher } from './cursor-watcher.ts'
import type { Committed, History } from './history.ts'
import { drawClients } from './plan.ts'
import type { ClientPlan } from './plan.ts'
import { Served } from './served.ts'
import { Watcher } from './watcher.ts'

export type ClientPoolOptions = {
  readonly world: World
  readonly swarm: Swarm
  readonly barrier: 'used' | 'skipped'
  readonly history: History
  readonly newest: () => Committed
}

const burstClientCount = 12
/** Higher than the numbers of all other clients. */
export const burstClientsFrom = 100

/** All clients of a cluster, and the APIs of its processes. */
export class ClientPool {
  readonly #options: ClientPoolOptions
  readonly #plan: ClientPlan
  readonly #clients: readonly Client[]
  readonly #prover: Client
  /** Clients that only take part in bursts. */
  readonly #burstClients: Client[]
  #allowedMembers: ReadonlySet<number> | null = null
  readonly #watchers: readonly Watcher[]
  readonly #cursors: readonly CursorWatcher[]
  readonly #administrator: Administrator
  readonly #served = new Map<number, Served>()
  #processes = 0
  #active = true

  constructor(options: ClientPoolOptions) {
    this.#options = options
    const { world, swarm, history, newest } = options
    this.#plan = drawClients(world.random.fork(), swarm.payloadBytesMax)
    const serving = (): readonly Served[] => this.served
    const client = (number: number): Client =>
      new Client({
        ...{ world, history, number, serving, tokens },
        putCreates: namesOf(this.#plan.domain).putCreates,
        payloadBytesMax: swarm.payloadBytesMax,
      })
    const tokens = new Tokens()
    this.#prover = client(0)
    this.#clients = Array.from({ length: swarm.clients }, (_, at) => client(at + 1))
    this.#burstClients = Array.from({ length: burstClientCount }, (_, at) => client(burstClientsFrom + at))
    this.#watchers = this.#plan.watched.map(
      (range, at) => new Watcher({ ...{ world, history, range, serving, newest }, name: `w${at}` }),
    )
    this.#cursors = [new CursorWatcher({ world, history, name: 'c', serving })]
    const { changes, lastSettings: last } = this.#plan
    this.#administrator = new Administrator({ world, serving, changes, last })
  }

  start(): void {
    const { world } = this.#options
    for (const client of this.#clients) this.#again(client, world.random.fork())
    for (const watcher of [...this.#watchers, ...this.#cursors]) watcher.start()
    this.#administrator.start()
  }

  /** Called when the faults end: lifts the storage limits. */
  calm(): void {
    this.#administrator.calm()
  }

  stop(): void {
    this.#active = false
  }

  /**
   * Starts this number of calls at one member at once; fewer while earlier ones are in progress.
   */
  burst(member: number, what: 'read' | 'write', calls: number): void {
    const served = this.#served.get(member)
    if (served === undefined || served.gone || !this.#active) return
    for (const client of this.#burstClients.splice(0, calls)) {
      client.burst(served, what).then(
        () => this.#burstClients.push(client),
        (cause: unknown) => this.#options.world.fail(cause),
      )
    }
  }

  async proves(member: number, timeoutMs: number): Promise<boolean> {
    const served = this.#served.get(member)
    return served === undefined || served.gone ? false : this.#prover.proves(served, timeoutMs)
  }

  /** Returns whether all watchers received everything. @param revision the newest one */
  caughtUp(revision: number): boolean {
    return this.#watchers.every(({ position }) => position !== null && position >= revision)
  }

  /** Returns the API of a process that serves requests from now on. */
  serving(of: {
    readonly member: number
    readonly instance: ProcessInstance
    readonly machine: StoreMachine
    readonly store: Store
  }): Served {
    const { world, swarm, barrier } = this.#options
    const { domain, settings, featureLevel } = this.#plan
    const process = ++this.#processes
    const { storeLimits } = swarm
    const served = new Served(
      { world, domain, settings, featureLevel, storeLimits, barrier },
      { ...of, process },
    )
    this.#served.set(of.member, served)
    return served
  }

  /** From now on clients use only these members, as behind a load balancer. */
  useOnly(members: readonly number[]): void {
    this.#allowedMembers = new Set(members)
  }

  /** Serving processes, in order of their members. */
  get served(): readonly Served[] {
    const found: Served[] = []
    for (const served of this.#served.values()) {
      if (!served.gone && this.#allowedMembers?.has(served.member) !== false) found.push(served)
    }
    return found.sort((a, b) => a.member - b.member)
  }

  #again(client: Client, random: SeededRandom): void {
    const { world } = this.#options
    const meanMs = this.#plan.callEveryMs * this.#clients.length
    // Sometimes in a burst: calls of one client without a delay.
    const delayMs = random.chance(0.2) ? 0 : (random.below(1000) / 500) * meanMs
    world.schedule(delayMs, 'client', null, () => {
      if (!this.#active) return
      client.act().then(
        () => this.#again(client, random),
        (cause: unknown) => world.fail(cause),
      )
    })
  }
}
