import { initialConfiguration, nodeId } from '../../../raft/index.ts'
import type { NodeId } from '../../../raft/index.ts'
import { namesOf } from '../../../src/api/metadata/names.ts'
import { Finding } from '../checkers/finding.ts'
import { SeedError } from '../cluster.ts'
import { CrashPoints } from '../crash-points.ts'
import { Coverage } from '../coverage.ts'
import type { Counts } from '../coverage.ts'
import { foundersOf } from '../membership-actions.ts'
import { Member } from '../member.ts'
import { Nemesis } from '../nemesis.ts'
import { Network } from '../network.ts'
import type { ScheduledFault } from '../plan.ts'
import { World } from '../world.ts'
import { ControllersWatcher } from './controllers-watcher.ts'
import { drawControllersPlan, faultsMs } from './draw.ts'
import type { ControllersPlan } from './draw.ts'
import { unfinishedBuild, unfinishedRemoval } from './end-state.ts'
import type { Mistake } from './mistake.ts'
import { checkOrder } from './order.ts'
import { Round } from './round.ts'
import { StoredObjects } from './stored-objects.ts'
import { buildTasks, jumpMs, removeTasks } from './workload.ts'
import type { Task } from './task.ts'

export type ControllersRunOptions = {
  readonly seed: number
  readonly trace: ((line: string) => void) | null
  /** A deliberate bug that some checker has to find. */
  readonly mistake?: Mistake
  /** The plan of the seed with these changes, to make a mistake have an effect sooner. */
  readonly plan?: Partial<ControllersPlan>
}

export type ControllersReport = {
  readonly seed: number
  readonly domain: string
  readonly work: ControllersPlan['work']
  readonly voters: number
  readonly traceHash: string
  readonly events: number
  readonly virtualMs: number
  readonly leaderships: number
  /** Snapshots that members installed. */
  readonly snapshots: number
  readonly revision: number
  /** Virtual ms from the end of the faults of each round until its end state. */
  readonly finishedMs: readonly number[]
  readonly coverage: Counts
  /** The number of steps that were checked, by rule. */
  readonly steps: Readonly<Record<string, number>>
}

/** Limit of virtual time from the end of the faults until everything is done. */
const finishMsMax = 200_000
const lookEveryMs = 500
/**
 * How long the state has to be right, in ms: the event about a step may be stored only after the
 * step, and then it has to expire.
 */
const steadyMs = 5_000
/** Virtual ms after which the end state must still be the same. */
const restMs = 3_000
const restartMs = 50
const lastLinesMax = 60

/**
 * Runs one cluster with all controllers and one seed: clients create objects, and in a second round
 * delete some, while leaders are killed, paused and replaced. After the faults of each round the
 * controllers have to reach exactly the right state.
 *
 * @throws SeedError with the finding of a checker
 */
export async function runControllers(options: ControllersRunOptions): Promise<ControllersReport> {
  return new ControllersRun(options).run()
}

class ControllersRun {
  readonly #options: ControllersRunOptions
  readonly #world: World
  readonly #plan: ControllersPlan
  readonly #coverage = new Coverage()
  readonly #allCrashPoints = new CrashPoints()
  readonly #network: Network
  readonly #watcher: ControllersWatcher
  readonly #members: readonly Member[]
  /** null: between the rounds, and at the end. */
  #nemesis: Nemesis | null = null

  constructor(options: ControllersRunOptions) {
    this.#options = options
    const world = new World(options)
    this.#world = world
    this.#plan = { ...drawControllersPlan(world.random.fork()), ...options.plan }
    const { swarm, domain, work } = this.#plan
    const founders = foundersOf(swarm.voters, swarm.learners)
    const watcher = new ControllersWatcher({
      ...{ world, domain, work, storeLimits: swarm.storeLimits, mistake: options.mistake ?? null },
      founding: initialConfiguration(founders),
    })
    this.#watcher = watcher
    this.#network = new Network({
      ...{ world, options: swarm.network },
      tap: (message) => watcher.message(message),
      met: (fault) => this.#coverage.hit(`met ${fault}`),
    })
    const { timing, limits } = swarm
    this.#members = founders.map(({ id }) => {
      const member: Member = new Member({
        ...{ world, network: this.#network, watcher, swarm },
        node: { id, members: founders, timing, limits },
        wrapDisk: (disk) => disk,
        allCrashPoints: this.#allCrashPoints,
        met: (fault) => this.#coverage.hit(`met ${fault}`),
        someDiverged: () => false,
        mayBeByzantine: () => false,
        crashedAt: (step, side) => this.#coverage.hit(`crash ${side} ${step}`),
        onDown: () => this.#down(member),
      })
      return member
    })
  }

  async run(): Promise<ControllersReport> {
    const { domain, sizes } = this.#plan
    const world = this.#world
    const names = namesOf(domain)
    try {
      for (const member of this.#members) member.start()
      const objects = new StoredObjects(names, this.#watcher.truth)
      const expected = { names, sizes, objects }
      const check = (): ReadonlyMap<string, number> => this.#watcher.check(names, this.#members)
      const builtMs = await this.#round(0, buildTasks(names, sizes), () => unfinishedBuild(expected))
      check()
      const removedMs = await this.#round(1, removeTasks(names, sizes), () => unfinishedRemoval(expected))
      return this.#report([builtMs, removedMs], check())
    } catch (cause) {
      const plan = this.#plan.faults.flat()
      throw new SeedError(this.#options.seed, cause, plan, world.past(lastLinesMax, isOfInterest))
    }
  }

  /** @returns virtual ms from the end of the faults until everything is done */
  async #round(number: number, tasks: readonly Task[], unfinished: () => readonly string[]): Promise<number> {
    const world = this.#world
    const began = world.now
    const nemesis = this.#makeNemesis(this.#plan.faults[number] ?? [], began)
    this.#nemesis = nemesis
    this.#network.faulty = true
    const round = new Round({
      ...{ world, random: world.random.fork(), tasks, withinMs: faultsMs / 2 },
      serving: () => this.#watcher.served,
    })
    nemesis.start()
    round.start()
    if (number > 0) this.#jump(world.random.below(faultsMs))
    await world.runUntil(began + faultsMs)
    nemesis.stop()
    this.#nemesis = null
    this.#heal()
    const problems = (): readonly string[] => [
      ...round.unanswered.map((label) => `${label} is not answered`),
      ...(round.unanswered.length === 0 ? unfinished() : []),
      ...this.#lagging(),
    ]
    const healed = world.now
    let isDone = false
    let rightSince: number | null = null
    const look = (): void => {
      rightSince = problems().length === 0 ? (rightSince ?? world.now) : null
      isDone = rightSince !== null && world.now - rightSince >= steadyMs
      if (!isDone) world.schedule(lookEveryMs, 'compares the state', null, look)
    }
    look()
    await world.runUntil(healed + finishMsMax, () => isDone)
    if (!isDone) {
      // The history may show the cause.
      checkOrder(namesOf(this.#plan.domain), this.#watcher.truth)
      throw new Finding('C1 end state', problems().join('; '))
    }
    const finished = world.now
    await world.runUntil(finished + restMs)
    const [again] = unfinished()
    if (again !== undefined) throw new Finding('C1 end state', `it was right, and then ${again}`)
    return Math.round(finished - healed)
  }

  /** Moves the wall clocks of all machines at the same time, as if hours had passed. */
  #jump(delayMs: number): void {
    this.#world.schedule(delayMs, 'hours pass', null, () => {
      for (const { time } of this.#members) time.jump(jumpMs)
    })
  }

  #makeNemesis(plan: readonly ScheduledFault[], began: number): Nemesis {
    return new Nemesis({
      ...{ world: this.#world, network: this.#network, members: this.#members, coverage: this.#coverage },
      founders: this.#members.map(({ id }): NodeId => nodeId(id)),
      plan: plan.map(({ atMs, fault }) => ({ atMs: began + atMs, fault })),
      allCrashPoints: this.#allCrashPoints,
      // No fault of these plans damages a disk or changes the membership.
      quorumGuard: { canLose: () => false },
      membership: { do: () => false, settled: true },
      sentByzantine: () => undefined,
      burst: () => undefined,
      makeEarlierMember: (member) => member,
    })
  }

  #heal(): void {
    this.#network.faulty = false
    this.#network.heal()
    for (const member of this.#members) member.heal()
  }

  #down(member: Member): void {
    if (this.#nemesis !== null) this.#nemesis.down(member)
    else this.#world.schedule(restartMs, `m${member.id} starts again`, null, () => member.start())
  }

  /** Returns the members without the last revision; one may have ended because of a late fault. */
  #lagging(): readonly string[] {
    const { revision } = this.#watcher.truth
    return this.#members
      .filter(({ instance }) => instance?.machine?.state.revision !== revision)
      .map(({ id }) => `m${id} does not have the last revision`)
  }

  #report(finishedMs: readonly number[], steps: ReadonlyMap<string, number>): ControllersReport {
    const { domain, work, swarm } = this.#plan
    return {
      ...{ seed: this.#options.seed, domain, work, voters: swarm.voters, finishedMs },
      traceHash: this.#world.traceHash,
      events: this.#world.events,
      virtualMs: Math.round(this.#world.now),
      leaderships: this.#watcher.leaderships,
      snapshots: this.#watcher.snapshots,
      revision: this.#watcher.truth.revision,
      coverage: this.#coverage.counts,
      steps: Object.fromEntries(steps),
    }
  }
}

/** Returns whether a failure report shows the line: faults and clients, not timers and messages. */
function isOfInterest(line: string): boolean {
  return line.startsWith('nemesis') || line.startsWith('client') || line.startsWith('hours')
}
