import type { SeededRandom } from '../../raft/base/random.ts'
import { nodeId } from '../../raft/index.ts'
import type { Network } from './network.ts'
import type { Member } from './process.ts'
import type { Swarm } from './swarm.ts'
import type { World } from './world.ts'

export type NemesisOptions = {
  readonly world: World
  readonly network: Network
  readonly members: readonly Member[]
  readonly swarm: Swarm
}

/** Does harm of each kind the seed allows, at moments it chooses, until it is told to stop. */
export class Nemesis {
  readonly #options: NemesisOptions
  readonly #random: SeededRandom
  #active = true

  constructor(options: NemesisOptions) {
    this.#options = options
    this.#random = options.world.random.fork()
  }

  start(): void {
    const { crashEveryMs, partitionEveryMs, pauseEveryMs, transferEveryMs } = this.#options.swarm
    this.#repeat('crash', crashEveryMs, () => this.#crash())
    this.#repeat('partition', partitionEveryMs, () => this.#partition())
    this.#repeat('pause', pauseEveryMs, () => this.#pause())
    this.#repeat('transfer', transferEveryMs, () => this.#transfer())
  }

  /** Ends all harm: every member runs, every link works. */
  stop(): void {
    this.#active = false
    const { network, members } = this.#options
    network.faulty = false
    network.heal()
    for (const member of members) member.heal()
  }

  #repeat(kind: string, meanMs: number | null, harm: () => void): void {
    if (meanMs === null) return
    const delay = meanMs * (0.2 + (this.#random.below(1000) / 1000) * 1.6)
    this.#options.world.schedule(delay, `nemesis ${kind}`, null, () => {
      if (!this.#active) return
      harm()
      this.#repeat(kind, meanMs, harm)
    })
  }

  #crash(): void {
    const { world, members, swarm } = this.#options
    const member = this.#random.pick(members)
    if (!member.running) return
    switch (this.#random.below(5)) {
      case 0:
        member.crash('power')
        break
      case 1:
        member.crash('process')
        break
      case 2:
        member.stop().catch((cause: unknown) => world.fail(cause))
        break
      case 3:
        member.failDisk(this.#random.pick(['sync', 'write']), this.#random.pick(['io', 'disk-full']))
        break
      default:
        member.crashWithinDisk(this.#random.below(6))
    }
    this.#restartLater(world, member, swarm.downMsMax)
  }

  #restartLater(world: World, member: Member, downMsMax: number): void {
    world.schedule(this.#random.below(downMsMax), `nemesis restarts ${member.id}`, null, () => {
      if (!this.#active) return
      // One that was to crash within its disk and is idle meanwhile goes now.
      member.crash('power')
      member.start()
    })
  }

  #partition(): void {
    const { network, members, world } = this.#options
    const ids = members.map((member) => nodeId(member.id))
    network.heal()
    const lonely = this.#random.pick(ids)
    const kind = this.#random.below(3)
    for (const other of ids) {
      if (other === lonely) continue
      // Alone, deaf, or mute.
      if (kind !== 1) network.cut(lonely, other)
      if (kind !== 2) network.cut(other, lonely)
    }
    if (this.#random.chance(0.3)) network.cut(this.#random.pick(ids), this.#random.pick(ids))
    world.schedule(this.#random.below(4_000), 'nemesis heals', null, () => network.heal())
  }

  #pause(): void {
    const { members, world } = this.#options
    const thread = this.#random.pick(['all', 'api', 'raft', 'log'] as const)
    this.#random.pick(members).pause(thread, world.now + this.#random.below(3_000))
  }

  #transfer(): void {
    const { members } = this.#options
    const leader = members.find((member) => member.life?.node.status.role === 'leader')
    const to = this.#random.pick(members)
    const { life } = leader ?? { life: null }
    if (life === null || to === leader) return
    life.node.transferLeadership(nodeId(to.id), life.clock.monotonicMs() + 1_000).catch(() => undefined)
  }
}
