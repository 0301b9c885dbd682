import { BrokenInvariant } from '../../base/assert.ts'
import type { SeededRandom } from '../../base/random.ts'
import { nodeId } from '../../raft/index.ts'
import { defaultHealthBounds, memberHealth } from '../../src/health/health.ts'
import type { Health } from '../../src/health/health.ts'
import { applyPermanentFault, permanentFaults } from './permanent-faults.ts'
import type { PermanentFault } from './permanent-faults.ts'
import type { MembershipActions } from './membership-actions.ts'
import type { Network } from './network.ts'
import type { Member } from './member.ts'
import { sourceOf } from './operator-repair.ts'
import { unsettledMembership } from './settlement.ts'
import type { Swarm } from './swarm.ts'
import type { Oracle } from './oracle.ts'
import type { World } from './world.ts'

export type LivenessOptions = {
  readonly world: World
  readonly network: Network
  /** All members, present and former. */
  readonly members: readonly Member[]
  readonly membership: MembershipActions
  readonly swarm: Swarm
  readonly oracle: Oracle
  readonly random: SeededRandom
  /** A fault that violates the rules of the phase, to show that it is detected. */
  readonly sabotage: Sabotage | null
}

/**
 * `links`: the healthy members are disconnected from each other; `thread`: one of them serves, and
 * is then stalled.
 */
export type Sabotage = 'links' | 'thread'

/** Numbers of members, and durations in virtual ms, each from the end of the previous phase. */
export type LivenessReport = {
  readonly healthy: number
  readonly faulty: number
  /** Until the membership was settled. */
  readonly settledMs: number
  readonly startedMs: number
  readonly electedMs: number
  /** Until no two members served different states. */
  readonly agreedMs: number
  /** Until an operator had every wrong or suspect state replaced. */
  readonly repairedMs: number
  readonly servedMs: number
  readonly convergedMs: number
  readonly watchedMs: number
}

/** Limits of virtual time, in ms. */
const limits = {
  /**
   * Each promotion waits for a member to start and to catch up, and members are promoted one by
   * one. With the smallest frames and the slowest database a snapshot alone takes about two hundred
   * writes of up to half a second.
   */
  settle: 150_000,
  /** Files are read, and databases verified, on slow disks. */
  start: 20_000,
  /** Each split vote costs one to two more timeouts, and five in a row are not a coincidence. */
  electionTimeouts: 12,
  /** Members apply missed entries, compare states, and wait for a majority. */
  agree: 30_000,
  /** Leadership is transferred and snapshots are sent, possibly one after the other. */
  repair: 60_000,
  serve: 15_000,
  converge: 15_000,
  watch: 30_000,
} as const
/**
 * Time in ms after which the clients stop if the membership is not settled: a snapshot that takes
 * longer to send than its log is kept never completes while others write.
 */
const busyMsMax = 10_000
const repairEveryMs = 1_000
const repairsBeginMs = 40_000

/**
 * The phase after the faults: a majority of the voters is healthy and connected, the others stay
 * faulty permanently. After membership changes all members are healthy first, until the membership
 * is settled: otherwise a faulty learner could be promoted late and turn the healthy majority into
 * a minority. From then on the cluster has to satisfy all its guarantees within time limits:
 *
 * - L4 membership requests are answered, learners are promoted, removed members exit
 * - L1 a leader is elected
 * - L5 if states differ, at most one of them is served; an operator with knowledge of a right state
 *   repairs the others
 * - L2 each healthy member serves a write and a most recent read
 * - L3 all healthy members become ready and reach the same state
 * - L4 healthy learners do so, too
 * - L6 every watch receives all events
 */
export class Liveness {
  readonly #options: LivenessOptions
  #healthy: readonly Member[] = []
  readonly #faulty = new Map<Member, PermanentFault>()
  #unready: () => readonly string[] = () => []

  constructor(options: LivenessOptions) {
    this.#options = options
  }

  get healthy(): readonly Member[] {
    return this.#healthy
  }

  /** Called when a process ended unexpectedly. */
  down(member: Member): void {
    if (this.#faulty.get(member) === 'down') return
    this.#options.world.schedule(50, `m${member.id} starts again`, null, () => member.start())
  }

  /**
   * @returns null when no healthy voter has a right state: then there is no source for a repair
   * @throws BrokenInvariant that names the claim
   */
  async run(): Promise<LivenessReport | null> {
    const { world, oracle, sabotage, members, membership } = this.#options
    const times: number[] = []
    const phase = async (
      bound: number,
      done: () => boolean,
      broken: () => string,
      seldom = 1,
    ): Promise<void> => {
      const began = world.now
      await world.runUntil(began + bound, every(seldom, done))
      if (!done()) this.#fail(broken())
      times.push(Math.round(world.now - began))
    }
    this.#heal()
    const unsettled = (): readonly string[] => [
      ...(this.#isFounded ? [] : ['the cluster is not founded']),
      ...(membership.any ? unsettledMembership(members, oracle, membership) : []),
    ]
    const settled = (): boolean => unsettled().length === 0
    if (membership.any) {
      world.schedule(busyMsMax, 'clients wait for the members', null, () => {
        if (!settled()) oracle.stop()
      })
      // If no majority has one state, changes commit only after an operator chose the right one.
      world.schedule(repairsBeginMs, 'an operator checks', null, () => {
        if (!settled()) this.#repair()
      })
    }
    await phase(limits.settle, settled, () => `L4: ${unsettled().join('; ')}`, 20)
    this.#choose()
    if (sabotage === 'links')
      for (const member of this.#healthy) applyPermanentFault(member, 'isolated', this.#options)
    const able = (): boolean => this.#healthy.every(({ instance }) => (instance?.watch ?? null) !== null)
    await phase(limits.start, able, () => 'L3: a healthy member does not start')
    const { electionMs } = this.#options.swarm.timing
    const voteMs = limits.electionTimeouts * electionMs + 20 * this.#options.swarm.network.delayMsMax
    await phase(
      voteMs,
      () => this.#hasLeader(),
      () => 'L1: a healthy majority does not elect a leader',
    )
    await phase(
      limits.agree,
      () => this.#agrees(),
      () => 'L5: members serve different states',
      20,
    )
    if (sourceOf(this.#healthy, null) === undefined) return null
    this.#repair()
    await phase(
      limits.repair,
      () => this.#unhealthy().length === 0,
      () =>
        `L5: not repaired: ${this.#unhealthy()
          .map(({ id }) => `m${id}`)
          .join(', ')}`,
      20,
    )
    const served = this.#serveAll()
    await phase(limits.serve, served, () => 'L2: a healthy member does not serve')
    oracle.stop()
    if (sabotage === 'thread') this.#healthy[0]?.pause('api', Infinity)
    const health = this.#healthy.map((member) => this.#watchHealth(member))
    this.#unready = () => health.flatMap((failures) => failures())
    const converged = (): boolean => this.#equal() && this.#unready().length === 0
    await phase(
      limits.converge,
      converged,
      () => 'L3, L4: the healthy members do not become equal and ready',
      50,
    )
    oracle.useOnly(this.#healthy)
    // A process may have ended since because of an earlier disk fault.
    const watched = (): boolean => this.#equal() && oracle.caughtUp(this.#healthy)
    await phase(limits.watch, watched, () => 'L6: a watch does not receive all events', 50)
    const [settledMs = 0, startedMs = 0, electedMs = 0, agreedMs = 0, repairedMs = 0, ...rest] = times
    const [servedMs = 0, convergedMs = 0, watchedMs = 0] = rest
    const sizes = { healthy: this.#healthy.length, faulty: this.#faulty.size }
    const first = { settledMs, startedMs, electedMs, agreedMs, repairedMs }
    return { ...sizes, ...first, servedMs, convergedMs, watchedMs }
  }

  /** Ends all faults and heals all members as far as possible. */
  #heal(): void {
    const { network, world, members, membership } = this.#options
    network.faulty = false
    // Heals faulty members, too: a leader that reaches only some members would block the others
    // permanently.
    network.heal()
    // All founders are needed until the cluster is founded.
    if (!membership.any && this.#isFounded) return
    this.#healthy = members.filter(({ recoverable }) => recoverable)
    world.note('all members are healthy until the membership is settled')
    for (const member of members) member.heal()
  }

  get #isFounded(): boolean {
    return this.#options.members.some(({ clusterId }) => clusterId !== null)
  }

  /** Chooses the current members that stay healthy. */
  #choose(): void {
    const { members, random, world } = this.#options
    const { configuration } = this.#options.oracle.memberships.decided
    const majority = Math.floor(configuration.voters.length / 2) + 1
    const healthy: Member[] = []
    let votes = 0
    for (const member of shuffled(random, members)) {
      const permanentFault = random.chance(0.4) ? 'well' : random.pick(permanentFaults)
      if (!this.#belongs(member)) continue
      // A member with a damaged database has to heal, and healthy members must have its data.
      const heals = member.recoverable && !member.sound
      const needed = member.sound && this.#votes(member) && votes < majority
      if (needed) votes++
      if (needed || heals || (member.sound && permanentFault === 'well')) healthy.push(member)
      else this.#faulty.set(member, permanentFault)
    }
    this.#healthy = healthy
    for (const member of healthy) {
      world.note(`m${member.id} is healthy from now on`)
      member.heal()
    }
    for (const [member, permanentFault] of this.#faulty) {
      world.note(`m${member.id} is ${member.recoverable ? permanentFault : 'damaged'} permanently`)
      if (member.recoverable) applyPermanentFault(member, permanentFault, this.#options)
      else {
        // Restarts the damaged member, so that it detects its damage and does not lead until then.
        member.healDisks()
        member.crash('power')
        member.start()
      }
    }
  }

  #belongs({ id }: Member): boolean {
    return this.#options.oracle.memberships.isMember(id)
  }

  #votes({ id }: Member): boolean {
    const { voters } = this.#options.oracle.memberships.decided.configuration
    return voters.includes(nodeId(id))
  }

  /** Returns whether all healthy voters follow one leader in one term. */
  #hasLeader(): boolean {
    return this.#options.members.some(
      ({ instance }) => instance?.node.status.role === 'leader' && this.#followed(instance.node.status),
    )
  }

  #followed({ id, term }: { readonly id: number; readonly term: number }): boolean {
    return this.#healthy.every((member) => {
      const status = member.instance?.node.status
      return !this.#votes(member) || (status?.leader === id && status.term === term)
    })
  }

  /** @returns a function that returns whether all healthy members have served */
  #serveAll(): () => boolean {
    const { world, oracle } = this.#options
    let served = 0
    const serve = (member: Member): void => {
      oracle.proves(member, 5_000).then(
        (ok) => {
          if (ok) served++
          else world.schedule(100, 'served again', null, () => serve(member))
        },
        (cause: unknown) => world.fail(cause),
      )
    }
    for (const member of this.#healthy) serve(member)
    return () => served === this.#healthy.length
  }

  /** Returns whether no member serves a wrong state while another one serves a right one. */
  #agrees(): boolean {
    const serving = this.#healthy.filter(({ instance }) => instance?.machine?.quarantine === null)
    return serving.every(({ isWrong }) => isWrong) || serving.every(({ isWrong }) => !isWrong)
  }

  /** Members that are wrong, suspect, or without a state. */
  #unhealthy(): readonly Member[] {
    return this.#healthy.filter(({ instance, isWrong }) => isWrong || instance?.machine?.quarantine !== null)
  }

  /**
   * Repairs one member, again and again: the reports that a member sent before it was lost may
   * change a verdict a little later.
   */
  #repair(): void {
    this.#options.world.schedule(repairEveryMs, 'an operator checks again', null, () => this.#repair())
    // One that was removed may have ended with a wrong state, which must not hold up the others.
    const unhealthy = this.#unhealthy().filter(({ instance }) => instance !== null)
    // Wrong members come first: with a right majority, suspect members with a right state recover
    // by themselves.
    const member = unhealthy.find(({ isWrong }) => isWrong) ?? unhealthy.find(({ isSuspect }) => isSuspect)
    if (member === undefined) return
    const from = sourceOf(this.#healthy, member)
    if (from !== undefined) return member.repair(from)
    // If only this member has everything that was committed, the others are repaired from it.
    if (member.isRight) this.#healthy.find((other) => other !== member)?.repair(member)
  }

  #equal(): boolean {
    const places = this.#healthy.map(({ instance }) => {
      const machine = instance?.machine ?? null
      return machine === null || machine.quarantine !== null
        ? null
        : `${machine.appliedMemory} ${machine.digest}`
    })
    return new Set(places).size === 1 && !places.includes(null)
  }

  /** Returns a function that evaluates `/readyz`. @returns the failures; empty when ready */
  #watchHealth(member: Member): () => readonly string[] {
    const health = new Map<unknown, Health>()
    return () => {
      const { instance } = member
      if (instance === null) return [`m${member.id} is not running`]
      let own = health.get(instance)
      if (own === undefined) {
        own = memberHealth({
          ...{ consensus: instance.node, clock: instance.clock, bounds: defaultHealthBounds },
          silentThread: () => null,
          more: [
            { name: 'state', live: false, failure: () => instance.watch?.guard.quarantineFailure() ?? null },
            {
              name: 'state-agreement',
              live: false,
              failure: () => instance.watch?.guard.agreementFailure() ?? null,
            },
            { name: 'caught-up', live: false, failure: () => instance.caughtUp?.failure() ?? null },
          ],
        })
        health.set(instance, own)
      }
      return own.readyz.flatMap(({ name, failure }) => {
        const why = failure()
        return why === null ? [] : [`m${member.id} is not ready: ${name}: ${why}`]
      })
    }
  }

  #fail(what: string): never {
    const lines = this.#options.members.map((member) => {
      const faulty = this.#faulty.get(member)
      const role = faulty === undefined ? 'healthy' : member.recoverable ? faulty : 'damaged'
      const { status, load } = member.instance?.node ?? {}
      if (status === undefined) return `m${member.id} (${role}) is not running; ${member.lost ?? ''}`
      const { term, leader, commit, lastIndex, persistedIndex, appliedMemory, appliedDisk, followers } =
        status
      const place = { term, leader, commit, lastIndex, persistedIndex, appliedMemory, appliedDisk }
      const { machine, watch } = member.instance ?? {}
      const state = {
        isWrong: member.isWrong,
        quarantine: machine?.quarantine,
        verdict: watch?.guard.verdict,
      }
      return `m${member.id} (${role}) ${JSON.stringify({ role: status.role, ...place, load, followers, state })}`
    })
    throw new BrokenInvariant([what, ...this.#unready(), ...lines].join('\n'))
  }
}

/** Evaluates an expensive condition only at every n-th call. */
function every(calls: number, question: () => boolean): () => boolean {
  let call = 0
  return () => call++ % calls === 0 && question()
}

function shuffled<T>(random: SeededRandom, items: readonly T[]): readonly T[] {
  const left = [...items]
  const result: T[] = []
  while (left.length > 0) result.push(...left.splice(random.below(left.length), 1))
  return result
}
