import { SeededRandom } from '../../base/random.ts'
import { nodeId } from '../../raft/index.ts'
import type { Coverage } from './coverage.ts'
import type { QuorumGuard } from './quorum-guard.ts'
import { LinkFaults } from './link-faults.ts'
import type { Network } from './network.ts'
import { impossibleMessage, impossibleState } from './byzantine.ts'
import type { Target } from './fault-target.ts'
import type { ScheduledFault, FaultAction } from './plan.ts'
import type { ProcessInstance } from './process-instance.ts'
import type { MembershipActions } from './membership-actions.ts'
import type { Member } from './member.ts'
import { sourceOf } from './operator-repair.ts'
import type { CrashKind, CrashPoints } from './crash-points.ts'
import { findTarget, leaderOf } from './target.ts'
import type { World } from './world.ts'

export type NemesisOptions = {
  readonly world: World
  readonly network: Network
  /** Grows when members join. */
  readonly members: readonly Member[]
  /** The initial voters. */
  readonly founders: readonly number[]
  readonly quorumGuard: Pick<QuorumGuard, 'canLose'>
  readonly membership: Pick<MembershipActions, 'do' | 'settled'>
  readonly plan: readonly ScheduledFault[]
  /** Crash points of all members: the first to reach one ends there. */
  readonly allCrashPoints: CrashPoints
  readonly coverage: Coverage
  /** Creates a member of an earlier cluster at the address of this one, without starting it. */
  readonly makeEarlierMember: (member: Member) => Member
  /** Called when a member begins to send impossible messages. */
  readonly sentByzantine: () => void
  /** Sends a burst of client calls to a member. */
  readonly burst: (member: number, what: 'read' | 'write', calls: number) => void
}

/** Time for which two members are alone with each other. */
const aloneMs = 3_000
/** Time for which a member stays down that ended because of an earlier fault. */
const defaultDownMs = 500

/** Executes the planned faults until it is stopped. */
export class Nemesis {
  readonly #options: NemesisOptions
  readonly #links: LinkFaults
  readonly #downMs = new Map<number, number>()
  /** Functions that end the earlier members. */
  readonly #leaving = new Set<() => void>()
  #active = true

  constructor(options: NemesisOptions) {
    this.#options = options
    this.#links = new LinkFaults({
      ...{ network: options.network, burst: options.burst, ids: () => this.#ids() },
      targetOf: (target) => this.#target(target).id,
      later: (delayMs, label, act) => this.#later(delayMs, label, act),
    })
  }

  start(): void {
    const { world, plan, coverage } = this.#options
    for (const { atMs, fault } of plan) {
      world.scheduleAt(atMs, `nemesis ${fault.kind}`, null, () => {
        if (this.#active && this.#do(fault)) coverage.hit(`fault ${fault.kind}`)
      })
    }
  }

  /** From now on there are no new faults and no restarts. */
  stop(): void {
    this.#active = false
    for (const leave of this.#leaving) leave()
    this.#options.allCrashPoints.disarm()
  }

  /** Called when a process ended: schedules its restart. */
  down(member: Member): void {
    const downMs = this.#downMs.get(member.id) ?? defaultDownMs
    this.#later(downMs, `restarts m${member.id}`, () => member.start())
  }

  /** @returns whether the fault was injected */
  #do(fault: FaultAction): boolean {
    switch (fault.kind) {
      case 'kill':
      case 'power-cut':
        return this.#kill(fault)
      case 'stop':
        return this.#stop(fault)
      case 'restart-loop':
        return this.#running(fault, (member) => this.#loop(member, fault, fault.times))
      case 'crash-step':
        return this.#crashAtStep(fault)
      case 'pause':
        return this.#running(fault, (member) =>
          member.pause(fault.thread, this.#options.world.now + fault.forMs),
        )
      case 'sync-stall':
        return this.#stall(fault)
      case 'wall-jump':
        this.#target(fault.target).time.jump(fault.byMs)
        return true
      case 'transfer':
        return this.#transfer(fault.to)
      case 'depose':
        return this.#links.depose(fault)
      case 'disk-error':
      case 'disk-full':
      case 'database-stall':
      case 'database-error':
        return this.#failDisk(fault)
      case 'log-rot':
      case 'database-rot':
      case 'wipe':
        return this.#damageMember(fault)
      case 'earlier-cluster':
        return this.#startEarlierMembers(fault)
      case 'diverge':
        return (
          this.#options.quorumGuard.canLose(this.#target(fault.target).id) &&
          this.#running(fault, (member) => member.diverge(fault.how))
        )
      case 'byzantine':
        return this.#byzantine(fault)
      case 'repair':
        return this.#repair(fault)
      case 'join':
      case 'remove':
      case 'set-role':
      case 'move':
        return this.#options.membership.do(fault)
      default:
        return this.#links.degrade(fault)
    }
  }

  #running(
    fault: { readonly target: Target; readonly downMs?: number },
    act: (member: Member, instance: ProcessInstance) => void,
  ): boolean {
    const member = this.#target(fault.target)
    const { instance } = member
    if (instance === null) return false
    if (fault.downMs !== undefined) this.#downMs.set(member.id, fault.downMs)
    act(member, instance)
    return true
  }

  #kill(fault: Extract<FaultAction, { readonly kind: 'kill' | 'power-cut' }>): boolean {
    const end = crashKinds[fault.kind]
    return this.#running(fault, (member, instance) => {
      if (!fault.within) {
        member.crash(end)
        return
      }
      member.crashAt({ step: 'log-sync', side: 'before', skip: 0, end })
      this.#later(writeMsMax, `stops waiting for a write of m${member.id}`, () => {
        if (member.instance === instance) member.crash(end)
      })
    })
  }

  #stop(fault: Extract<FaultAction, { readonly kind: 'stop' }>): boolean {
    return this.#running(fault, (member) => member.stopInTime())
  }

  #loop(member: Member, fault: Extract<FaultAction, { readonly kind: 'restart-loop' }>, times: number): void {
    this.#downMs.set(member.id, fault.downMs)
    member.crash(times % 2 === 0 ? 'power' : 'process')
    if (times <= 1) return
    const roundMs = fault.downMs + fault.upMs
    this.#later(roundMs, `loops m${member.id}`, () => this.#loop(member, fault, times - 1))
  }

  /** Arming does not count as a crash at that step: `crashedAt` counts those that happen. */
  #crashAtStep(fault: Extract<FaultAction, { readonly kind: 'crash-step' }>): boolean {
    const { step, side, skip } = fault
    const point = { step, side, skip, end: crashKinds[fault.end] }
    if (fault.anyMember) {
      for (const { id } of this.#options.members) this.#downMs.set(id, fault.downMs)
      this.#options.allCrashPoints.arm(point)
      return true
    }
    return this.#running(fault, (member, instance) => {
      member.crashAt(point)
      this.#later(fault.patienceMs, `stops waiting for ${fault.step}`, () => {
        if (member.instance === instance) member.disarm()
      })
    })
  }

  #stall(fault: Extract<FaultAction, { readonly kind: 'sync-stall' }>): boolean {
    return this.#running(fault, (member, instance) => {
      member.stallDisk(fault.stallMs)
      if (Number.isFinite(fault.stallMs)) return
      this.#later(endlessStallMs, `ends the stall of m${member.id}`, () => {
        if (member.instance === instance) member.crash(crashKinds[fault.end])
      })
    })
  }

  #failDisk(
    fault: Extract<
      FaultAction,
      { readonly kind: 'disk-error' | 'disk-full' | 'database-stall' | 'database-error' }
    >,
  ): boolean {
    const member = this.#target(fault.target)
    switch (fault.kind) {
      case 'disk-error':
        member.failDisk(fault.operation, 'io')
        break
      case 'disk-full':
        member.failDisk('write', 'disk-full')
        break
      case 'database-stall':
        member.stallDatabase(this.#options.world.now + fault.forMs)
        return true
      case 'database-error':
        member.failDatabase()
    }
    this.#later(fault.forMs, `heals the disks of m${member.id}`, () => member.healDisks())
    return true
  }

  /** Damage from which a member may not recover. */
  #damageMember(
    fault: Extract<FaultAction, { readonly kind: 'log-rot' | 'database-rot' | 'wipe' }>,
  ): boolean {
    const member = this.#target(fault.target)
    if (member.lost !== null || !this.#options.quorumGuard.canLose(member.id)) return false
    if (fault.kind === 'wipe' && !this.#canForget(member)) return false
    // Founding needs the logs of all founders.
    const isFounded = this.#options.members.some(({ clusterId }) => clusterId !== null)
    if (fault.kind === 'log-rot' && !isFounded) return false
    if (fault.kind === 'wipe' && fault.alone) this.#stopOthers(member, fault.downMs + aloneMs)
    this.#downMs.set(member.id, fault.downMs)
    if (fault.kind === 'database-rot' && fault.while === 'running') {
      member.rotDatabase(fault.rot, fault.seed)
      return true
    }
    if (fault.kind === 'log-rot' && fault.while === 'running' && member.running) {
      member.rotRunningLog(fault.seed)
      return true
    }
    member.crash('power')
    if (fault.kind === 'log-rot') member.rotLog(fault.rot, fault.seed)
    else if (fault.kind === 'database-rot') member.rotDatabase(fault.rot, fault.seed)
    else member.wipe()
    return true
  }

  /**
   * Returns whether a member may lose its data directory. One founder keeps its directory:
   * otherwise all of them could found another cluster. During the founding all founders keep their
   * directories from the first proposal of a cluster ID on: others may accept the proposal while
   * the founder that made it is down.
   */
  #canForget(member: Member): boolean {
    const { members, founders, membership, network } = this.#options
    const isFounded = members.some(({ clusterId }) => clusterId !== null)
    if (!isFounded) return members.every(({ agreed, id }) => !agreed && !network.hasNamedCluster(nodeId(id)))
    const keeps = founders.some(
      (id) => id !== member.id && members.find((one) => one.id === id)?.isWiped === false,
    )
    return keeps && membership.settled
  }

  #repair({ target }: Extract<FaultAction, { readonly kind: 'repair' }>): boolean {
    const { members } = this.#options
    const member = members.find(({ isSuspect }) => isSuspect) ?? this.#target(target)
    const from = sourceOf(members, member)
    if (from === undefined || !member.running) return false
    member.repair(from)
    return true
  }

  /** Stops all members but this and one other: the minimum to found a cluster of three again. */
  #stopOthers(member: Member, forMs: number): void {
    const others = this.#options.members.filter((other) => other !== member)
    const companion = others.find(({ running }) => running) ?? others[0]
    for (const other of others) {
      if (other === companion) continue
      this.#downMs.set(other.id, forMs)
      other.crash('power')
    }
  }

  /**
   * Starts members of an earlier founding under the same names, while those of this one are down.
   */
  #startEarlierMembers({
    targets,
    forMs,
  }: Extract<FaultAction, { readonly kind: 'earlier-cluster' }>): boolean {
    const { members, founders, makeEarlierMember } = this.#options
    // A member without a cluster trusts its configured peers: it has nothing to lose.
    if (!members.every(({ id, clusterId }) => clusterId !== null || !founders.includes(id))) return false
    const replaced = members.filter(
      ({ id, addressTaken }) => targets.includes(id) && this.#options.founders.includes(id) && !addressTaken,
    )
    const earlierMembers = replaced.map((member) => {
      this.#downMs.set(member.id, forMs)
      member.crash('power')
      member.addressTaken = true
      const earlierMember = makeEarlierMember(member)
      earlierMember.start()
      const leave = (): void => {
        earlierMember.crash('power')
        member.addressTaken = false
      }
      this.#leaving.add(leave)
      return leave
    })
    this.#later(forMs, `stops ${earlierMembers.length} members of an earlier cluster`, () => {
      for (const leave of earlierMembers) {
        leave()
        this.#leaving.delete(leave)
      }
      for (const member of replaced) member.start()
    })
    return replaced.length > 0
  }

  #transfer(to: number): boolean {
    const { instance } = leaderOf(this.#options.members) ?? { instance: null }
    if (instance === null || instance.node.status.id === nodeId(to)) return false
    instance.node.transferLeadership(nodeId(to), instance.clock.monotonicMs() + 1_000).catch(() => undefined)
    return true
  }

  #byzantine(fault: Extract<FaultAction, { readonly kind: 'byzantine' }>): boolean {
    const random = new SeededRandom(fault.seed)
    const { network, sentByzantine } = this.#options
    const send = (member: Member, instance: ProcessInstance, left: number): void => {
      if (left === 0 || member.instance !== instance) return
      for (const to of this.#ids()) {
        const ends = { from: nodeId(member.id), to: nodeId(to), term: instance.node.status.term }
        if (to === member.id) continue
        network.inject(impossibleMessage(random, ends), ends.from, ends.to)
        if (random.chance(0.05))
          network.stream(ends.from, impossibleState(random, ends), noState).catch(() => undefined)
      }
      this.#later(fault.everyMs, `m${member.id} lies`, () => send(member, instance, left - 1))
    }
    return this.#running(fault, (member, instance) => {
      sentByzantine()
      send(member, instance, fault.messages)
    })
  }

  #ids(): readonly number[] {
    return this.#options.members.map(({ id }) => id)
  }

  #target(target: Target): Member {
    return findTarget(
      this.#options.members.filter(({ knowsRemoval }) => !knowsRemoval),
      target,
    )
  }

  #later(delayMs: number, label: string, act: () => void): void {
    this.#options.world.schedule(delayMs, `nemesis ${label}`, null, () => {
      if (this.#active) act()
    })
  }
}

const noState = (): Promise<null> => Promise.resolve(null)

/** A process that should crash within a write crashes without one after this time. */
const writeMsMax = 500
/** A sync that never ends is noticed by an operator after this time. */
const endlessStallMs = 4_000

const crashKinds: Readonly<Record<'kill' | 'power-cut', CrashKind>> = {
  kill: 'process',
  'power-cut': 'power',
}
