import { initialConfiguration, nodeId } from '../../raft/index.ts'
import type { MemberInfo, NodeOptions } from '../../raft/index.ts'
import type { LogDisk } from '../../raft/ports.ts'
import { Operator } from './clients/operator.ts'
import { Coverage } from './coverage.ts'
import type { Counts } from './coverage.ts'
import { QuorumGuard } from './quorum-guard.ts'
import { ignoringObserver } from './process-instance.ts'
import { Liveness } from './liveness.ts'
import type { LivenessReport, Sabotage } from './liveness.ts'
import { foundersOf, MembershipActions } from './membership-actions.ts'
import { Nemesis } from './nemesis.ts'
import { Network } from './network.ts'
import { drawPlan } from './plan.ts'
import type { ScheduledFault } from './plan.ts'
import { Member } from './member.ts'
import { CrashPoints } from './crash-points.ts'
import { drawSwarm, without } from './swarm.ts'
import type { FaultProfile, Noise, Swarm } from './swarm.ts'
import { Oracle } from './oracle.ts'
import type { OracleReport } from './oracle.ts'
import { World } from './world.ts'

export type RunOptions = {
  readonly seed: number
  readonly trace: ((line: string) => void) | null
  /** Virtual ms of faults; then a majority is healed and has to converge. */
  readonly faultsMs?: number
  /** Fewer faults than the seed draws, to find the relevant ones. */
  readonly reduction?: Reduction
  /** Deliberate bugs, each of which some checker has to find. */
  readonly barrier?: 'used' | 'skipped'
  readonly disk?: 'honest' | 'forgets-syncs'
  readonly sabotage?: Sabotage
  /** Faults in addition to those that the seed draws. */
  readonly extraFaults?: readonly ScheduledFault[]
}

export type Reduction = {
  /** Indexes of actions in the plan; the others are left out. null: all are executed. */
  readonly actions: readonly number[] | null
  readonly quiet: readonly Noise[]
}

export type RunReport = OracleReport & {
  readonly seed: number
  readonly profile: FaultProfile
  readonly voters: number
  readonly learners: number
  readonly traceHash: string
  readonly events: number
  readonly virtualMs: number
  /** null: no healthy member has a right state. */
  readonly liveness: LivenessReport | null
  readonly coverage: Counts
}

/** The failure of a run, with the faults and the trace that explain it. */
export class SeedError extends Error {
  override readonly name = 'SeedError'
  readonly seed: number
  readonly plan: readonly ScheduledFault[]
  /** The end of the trace, limited to the lines that may explain the failure. */
  readonly lastLines: readonly string[]

  constructor(seed: number, cause: unknown, plan: readonly ScheduledFault[], lastLines: readonly string[]) {
    super(cause instanceof Error ? cause.message : String(cause), { cause })
    this.seed = seed
    this.plan = plan
    this.lastLines = lastLines
  }
}

/** The default of `faultsMs`. */
export const defaultFaultsMs = 12_000
const lastLinesMax = 60

/**
 * Runs one cluster with one seed: faults and load together, then a healthy majority that has to
 * reach one state and serve again.
 * @throws SeedError with the finding of a checker
 */
export async function runSeed(options: RunOptions): Promise<RunReport> {
  const cluster = new Cluster(options)
  return cluster.run()
}

/** Returns the configuration that a seed draws at the start of its run. */
export function swarmOf(seed: number): Swarm {
  return drawSwarm(new World({ seed, trace: null }).random.fork())
}

class Cluster {
  readonly #options: RunOptions
  readonly #world: World
  readonly #swarm: Swarm
  readonly #plan: readonly ScheduledFault[]
  readonly #coverage = new Coverage()
  readonly #allCrashPoints = new CrashPoints()
  readonly #network: Network
  /** All members, present and former. */
  readonly #members: Member[] = []
  readonly #membership: MembershipActions
  readonly #nemesis: Nemesis
  readonly #oracle: Oracle
  #liveness: Liveness | null = null
  /**
   * Some member sent impossible messages: other members may blame each other for them, as in a real
   * cluster.
   */
  #sentByzantine = false

  constructor(options: RunOptions) {
    this.#options = options
    const world = new World(options)
    this.#world = world
    const reduction = options.reduction ?? { actions: null, quiet: [] }
    const swarm = without(drawSwarm(world.random.fork()), new Set(reduction.quiet))
    this.#swarm = swarm
    const count = swarm.voters + swarm.learners
    const plan = drawPlan({
      ...{
        random: world.random.fork(),
        faultRates: swarm.faultRates,
        members: count,
        downMsMax: swarm.downMsMax,
      },
      forMs: options.faultsMs ?? defaultFaultsMs,
    })
    const drawn = plan.filter((_, at) => reduction.actions === null || reduction.actions.includes(at))
    this.#plan = [...drawn, ...(options.extraFaults ?? [])]
    const founders = foundersOf(swarm.voters, swarm.learners)
    const founding = initialConfiguration(founders)
    const oracle = new Oracle({ world, swarm, founding, barrier: options.barrier ?? 'used' })
    this.#oracle = oracle
    this.#network = new Network({
      ...{ world, options: swarm.network },
      tap: (message) => oracle.message(message),
      met: (fault) => this.#coverage.hit(`met ${fault}`),
    })
    if (swarm.driftMax > 0) this.#coverage.hit('met clock-drift')
    for (const { id } of founders) this.#admit({ id, members: founders })
    const operator = new Operator({ world, serving: () => oracle.served })
    const memberOf = (id: number): Member | undefined => this.#members.find((member) => member.id === id)
    const quorumGuard = new QuorumGuard({
      configurations: () => oracle.configurations,
      changes: () => operator.changes,
      isSound: (id) => memberOf(id)?.sound !== false,
      canVote: (id) => memberOf(id)?.recoverable !== false,
    })
    this.#membership = new MembershipActions({
      ...{ world, operator, quorumGuard, memberships: oracle.memberships, members: this.#members },
      admit: (id, joining) => this.#admit({ id: nodeId(id), members: [], joining }),
      met: (fault) => this.#coverage.hit(`met ${fault}`),
    })
    this.#nemesis = new Nemesis({
      ...{ world, network: this.#network, members: this.#members, founders: founding.voters },
      ...{ quorumGuard, membership: this.#membership },
      ...{ plan: this.#plan, allCrashPoints: this.#allCrashPoints, coverage: this.#coverage },
      sentByzantine: () => {
        this.#sentByzantine = true
      },
      burst: (member, what, calls) => oracle.burst(member, what, calls),
      makeEarlierMember: (member) => this.#earlierMember(member, founders),
    })
  }

  async run(): Promise<RunReport> {
    const world = this.#world
    try {
      for (const member of this.#members) {
        const lateMs = this.#swarm.lateMs[member.id - 1] ?? 0
        if (lateMs === 0) member.start()
        else world.schedule(lateMs, `m${member.id} starts late`, null, () => member.start())
      }
      this.#oracle.start(this.#members)
      this.#nemesis.start()
      await world.runUntil(this.#options.faultsMs ?? defaultFaultsMs)
      this.#nemesis.stop()
      this.#oracle.calm()
      const liveness = this.#makeLiveness()
      this.#liveness = liveness
      const times = await liveness.run()
      if (times === null) this.#oracle.judge()
      else this.#oracle.final(liveness.healthy)
      return this.#report(times)
    } catch (cause) {
      throw new SeedError(this.#options.seed, cause, this.#plan, this.#lastLines(cause))
    }
  }

  /** Creates another member, which does not run yet. */
  #admit(node: Pick<NodeOptions, 'id' | 'members' | 'joining'>): Member {
    const { timing, limits } = this.#swarm
    const coverage = this.#coverage
    const member = new Member({
      ...{ world: this.#world, network: this.#network, watcher: this.#oracle, swarm: this.#swarm },
      node: { ...node, timing, limits },
      wrapDisk: this.#options.disk === 'forgets-syncs' ? forgetSyncs : (disk) => disk,
      allCrashPoints: this.#allCrashPoints,
      met: (fault) => coverage.hit(`met ${fault}`),
      someDiverged: () => (coverage.counts['met divergence'] ?? 0) > 0,
      mayBeByzantine: (peer) =>
        this.#sentByzantine || this.#members.find(({ id }) => id === peer)?.isWiped === true,
      crashedAt: (step, side) => coverage.hit(`crash ${side} ${step}`),
      onDown: () => {
        this.#nemesis.down(member)
        this.#liveness?.down(member)
      },
    })
    this.#members.push(member)
    return member
  }

  /**
   * Returns a member of an earlier founding with the name of this one. The checkers do not observe
   * it.
   */
  #earlierMember({ id }: Member, founders: readonly MemberInfo[]): Member {
    const { timing, limits } = this.#swarm
    const earlierMember = new Member({
      ...{ world: this.#world, network: this.#network, watcher: ignoringObserver, swarm: this.#swarm },
      node: { id: nodeId(id), members: founders, timing, limits },
      wrapDisk: (disk) => disk,
      allCrashPoints: new CrashPoints(),
      met: () => undefined,
      ...{ someDiverged: () => false, mayBeByzantine: () => true },
      ...{ crashedAt: () => undefined, onDown: () => undefined },
    })
    earlierMember.replaceWithEarlierCluster(founders)
    return earlierMember
  }

  #makeLiveness(): Liveness {
    return new Liveness({
      ...{ world: this.#world, network: this.#network, members: this.#members, swarm: this.#swarm },
      ...{ oracle: this.#oracle, random: this.#world.random.fork(), membership: this.#membership },
      sabotage: this.#options.sabotage ?? null,
    })
  }

  /** The last trace lines of the members that the failure names, or of all. */
  #lastLines(cause: unknown): readonly string[] {
    const text = cause instanceof Error ? cause.message : ''
    const named = new Set([...text.matchAll(/\b(?:m|member )(\d+)\b/g)].map(([, id]) => id ?? ''))
    const concerns = (line: string): boolean =>
      line.startsWith('nemesis') || [...named].some((id) => new RegExp(`(\\bm|net |>)${id}\\b`).test(line))
    return this.#world.past(lastLinesMax, (line) => named.size === 0 || concerns(line))
  }

  #report(liveness: LivenessReport | null): RunReport {
    if (liveness === null) this.#coverage.hit('met no-member-right')
    for (const event of this.#oracle.storageMet) this.#coverage.hit(`met ${event}`)
    for (const event of this.#oracle.memberships.met) this.#coverage.hit(`met ${event}`)
    for (const proven of this.#oracle.proven) this.#coverage.hit(proven)
    if (this.#membership.unrecoverableReplaced) this.#coverage.hit('met unrecoverable-replaced')
    const { voters: first, learners: others } = this.#swarm
    const joined = this.#members.filter(({ id }) => id > first + others).map(({ id }) => id)
    if (this.#oracle.resumedAt(new Set(joined)) > 0) this.#coverage.hit('met watch-resumed-on-joined')
    const { profile, voters, learners } = this.#swarm
    return {
      ...{ seed: this.#options.seed, profile, voters, learners },
      traceHash: this.#world.traceHash,
      events: this.#world.events,
      virtualMs: Math.round(this.#world.now),
      liveness,
      coverage: this.#coverage.counts,
      ...this.#oracle.report(),
    }
  }
}

/** A disk that acknowledges syncs without syncing. */
function forgetSyncs(disk: LogDisk): LogDisk {
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
