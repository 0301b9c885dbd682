import { assertNever } from '../../base/assert.ts'
import { SeededRandom } from '../../base/random.ts'
import { nodeId } from '../../raft/index.ts'
import type { Coverage } from './coverage.ts'
import type { Electorate } from './electorate.ts'
import type { Condition } from './link.ts'
import type { Network } from './network.ts'
import { impossibleMessage, impossibleState } from './malice.ts'
import type { Action, Deed, Target } from './plan.ts'
import type { Life } from './life.ts'
import type { MembershipDeeds } from './membership-deeds.ts'
import type { Member } from './process.ts'
import { sourceOf } from './repairs.ts'
import type { CrashKind, CrashPoint } from './steps.ts'
import { findTarget, leaderOf } from './targets.ts'
import type { World } from './world.ts'

export type NemesisOptions = {
  readonly world: World
  readonly network: Network
  /** Grows when some join. */
  readonly members: readonly Member[]
  /** Who voted first. */
  readonly founders: readonly number[]
  readonly electorate: Electorate
  readonly membership: MembershipDeeds
  readonly plan: readonly Action[]
  /** Of all members: who comes there first ends. */
  readonly ambush: CrashPoint
  readonly coverage: Coverage
  /** What was left of an earlier founding in the place of this member. Not started yet. */
  readonly stranger: (member: Member) => Member
  /** Some member sends what cannot be true from now on. */
  readonly lied: () => void
  /** So many clients come to a member at once. */
  readonly hurry: (member: number, what: 'read' | 'write', calls: number) => void
}

/** For so long two members are alone with each other. */
const aloneMs = 3_000
/** How long a member stays down that ended by a late consequence of some deed. */
const defaultDownMs = 500

/** Does what the plan says, when it says so, until it is told to stop. */
export class Nemesis {
  readonly #options: NemesisOptions
  readonly #downMs = new Map<number, number>()
  /** Each sends one stranger away. */
  readonly #leaving = new Set<() => void>()
  #active = true

  constructor(options: NemesisOptions) {
    this.#options = options
  }

  start(): void {
    const { world, plan, coverage } = this.#options
    for (const { atMs, deed } of plan) {
      world.scheduleAt(atMs, `nemesis ${deed.kind}`, null, () => {
        if (this.#active && this.#do(deed)) coverage.hit(`deed ${deed.kind}`)
      })
    }
  }

  /** No new harm, and nobody is brought back any more. */
  stop(): void {
    this.#active = false
    for (const leave of this.#leaving) leave()
    this.#options.ambush.disarm()
  }

  /** A process ended. */
  down(member: Member): void {
    const downMs = this.#downMs.get(member.id) ?? defaultDownMs
    this.#later(downMs, `restarts m${member.id}`, () => member.start())
  }

  /** @returns whether there was anything to do it to */
  #do(deed: Deed): boolean {
    switch (deed.kind) {
      case 'kill':
      case 'power-cut':
        return this.#kill(deed)
      case 'stop':
        return this.#stop(deed)
      case 'restart-loop':
        return this.#running(deed, (member) => this.#loop(member, deed, deed.times))
      case 'crash-step':
        return this.#crashAtStep(deed)
      case 'pause':
        return this.#running(deed, (member) =>
          member.pause(deed.thread, this.#options.world.now + deed.forMs),
        )
      case 'sync-stall':
        return this.#stall(deed)
      case 'wall-jump':
        this.#target(deed.target).time.jump(deed.byMs)
        return true
      case 'transfer':
        return this.#transfer(deed.to)
      case 'depose':
        return this.#depose(deed, 1)
      case 'disk-error':
      case 'disk-full':
      case 'database-stall':
      case 'database-error':
        return this.#failDisk(deed)
      case 'log-rot':
      case 'database-rot':
      case 'wipe':
        return this.#ruin(deed)
      case 'stranger':
        return this.#strangers(deed)
      case 'diverge':
        return (
          this.#options.electorate.canSpare(this.#target(deed.target).id) &&
          this.#running(deed, (member) => member.diverge(deed.how))
        )
      case 'malice':
        return this.#malice(deed)
      case 'repair':
        return this.#repair(deed)
      case 'join':
      case 'remove':
      case 'set-role':
      case 'move':
        return this.#options.membership.do(deed)
      default:
        return this.#spoilLinks(deed)
    }
  }

  #running(
    deed: { readonly target: Target; readonly downMs?: number },
    act: (member: Member, life: Life) => void,
  ): boolean {
    const member = this.#target(deed.target)
    const { life } = member
    if (life === null) return false
    if (deed.downMs !== undefined) this.#downMs.set(member.id, deed.downMs)
    act(member, life)
    return true
  }

  #kill(deed: Extract<Deed, { readonly kind: 'kill' | 'power-cut' }>): boolean {
    const end = crashKinds[deed.kind]
    return this.#running(deed, (member, life) => {
      if (!deed.within) {
        member.crash(end)
        return
      }
      member.crashAt({ step: 'log-sync', side: 'before', skip: 0, end })
      this.#later(writeMsMax, `waits no longer for a write of m${member.id}`, () => {
        if (member.life === life) member.crash(end)
      })
    })
  }

  #stop(deed: Extract<Deed, { readonly kind: 'stop' }>): boolean {
    return this.#running(deed, (member) => member.stopInTime())
  }

  #loop(member: Member, deed: Extract<Deed, { readonly kind: 'restart-loop' }>, times: number): void {
    this.#downMs.set(member.id, deed.downMs)
    member.crash(times % 2 === 0 ? 'power' : 'process')
    if (times <= 1) return
    const roundMs = deed.downMs + deed.upMs
    this.#later(roundMs, `loops m${member.id}`, () => this.#loop(member, deed, times - 1))
  }

  /** Armed is not done: what counts is that the process ended there. */
  #crashAtStep(deed: Extract<Deed, { readonly kind: 'crash-step' }>): boolean {
    const { step, side, skip } = deed
    const ambush = { step, side, skip, end: crashKinds[deed.end] }
    if (deed.whoever) {
      for (const { id } of this.#options.members) this.#downMs.set(id, deed.downMs)
      this.#options.ambush.arm(ambush)
      return true
    }
    return this.#running(deed, (member, life) => {
      member.crashAt(ambush)
      this.#later(deed.patienceMs, `waits for ${deed.step} no longer`, () => {
        if (member.life === life) member.disarm()
      })
    })
  }

  #stall(deed: Extract<Deed, { readonly kind: 'sync-stall' }>): boolean {
    return this.#running(deed, (member, life) => {
      member.stallDisk(deed.stallMs)
      if (Number.isFinite(deed.stallMs)) return
      this.#later(endlessStallMs, `ends the stall of m${member.id}`, () => {
        if (member.life === life) member.crash(crashKinds[deed.end])
      })
    })
  }

  #failDisk(
    deed: Extract<Deed, { readonly kind: 'disk-error' | 'disk-full' | 'database-stall' | 'database-error' }>,
  ): boolean {
    const member = this.#target(deed.target)
    switch (deed.kind) {
      case 'disk-error':
        member.failDisk(deed.operation, 'io')
        break
      case 'disk-full':
        member.failDisk('write', 'disk-full')
        break
      case 'database-stall':
        member.stallDatabase(this.#options.world.now + deed.forMs)
        return true
      case 'database-error':
        member.failDatabase()
    }
    this.#later(deed.forMs, `heals the disks of m${member.id}`, () => member.healDisks())
    return true
  }

  /** What a member does not come back from. */
  #ruin(deed: Extract<Deed, { readonly kind: 'log-rot' | 'database-rot' | 'wipe' }>): boolean {
    const member = this.#target(deed.target)
    if (member.lost !== null || !this.#options.electorate.canSpare(member.id)) return false
    if (deed.kind === 'wipe' && !this.#canForget(member)) return false
    // A cluster is founded by all its founders.
    const isFounded = this.#options.members.some(({ clusterId }) => clusterId !== null)
    if (deed.kind === 'log-rot' && !isFounded) return false
    if (deed.kind === 'wipe' && deed.alone) this.#leaveAloneWith(member, deed.downMs + aloneMs)
    this.#downMs.set(member.id, deed.downMs)
    if (deed.kind === 'database-rot' && deed.while === 'running') {
      member.rotDatabase(deed.rot, deed.seed)
      return true
    }
    if (deed.kind === 'log-rot' && deed.while === 'running' && member.running) {
      member.rotRunningLog(deed.seed)
      return true
    }
    member.crash('power')
    if (deed.kind === 'log-rot') member.rotLog(deed.rot, deed.seed)
    else if (deed.kind === 'database-rot') member.rotDatabase(deed.rot, deed.seed)
    else member.wipe()
    return true
  }

  /**
   * One founder keeps its directory: all of them together may found another cluster. While they agree to one, each has
   * to keep it, and from when it said which: the others may agree to that while it is down.
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

  #repair({ target }: Extract<Deed, { readonly kind: 'repair' }>): boolean {
    const { members } = this.#options
    const member = members.find(({ isSuspect }) => isSuspect) ?? this.#target(target)
    const from = sourceOf(members, member)
    if (from === undefined || !member.running) return false
    member.repair(from)
    return true
  }

  /** All are down but this one and one other: the fewest who could found a cluster of three once more. */
  #leaveAloneWith(member: Member, forMs: number): void {
    const others = this.#options.members.filter((other) => other !== member)
    const companion = others.find(({ running }) => running) ?? others[0]
    for (const other of others) {
      if (other === companion) continue
      this.#downMs.set(other.id, forMs)
      other.crash('power')
    }
  }

  /** Members of an earlier founding under the same names, while those of this one are down. */
  #strangers({ targets, forMs }: Extract<Deed, { readonly kind: 'stranger' }>): boolean {
    const { members, founders, stranger } = this.#options
    // One that is not founded yet believes those whom it should found with: it has nothing to lose.
    if (!members.every(({ id, clusterId }) => clusterId !== null || !founders.includes(id))) return false
    const seats = members.filter(
      ({ id, seatTaken }) => targets.includes(id) && this.#options.founders.includes(id) && !seatTaken,
    )
    const guests = seats.map((member) => {
      this.#downMs.set(member.id, forMs)
      member.crash('power')
      member.seatTaken = true
      const guest = stranger(member)
      guest.start()
      const leave = (): void => {
        guest.crash('power')
        member.seatTaken = false
      }
      this.#leaving.add(leave)
      return leave
    })
    this.#later(forMs, `sends ${guests.length} strangers away`, () => {
      for (const leave of guests) {
        leave()
        this.#leaving.delete(leave)
      }
      for (const member of seats) member.start()
    })
    return seats.length > 0
  }

  #transfer(to: number): boolean {
    const { life } = leaderOf(this.#options.members) ?? { life: null }
    if (life === null || life.node.status.id === nodeId(to)) return false
    life.node.transferLeadership(nodeId(to), life.clock.monotonicMs() + 1_000).catch(() => undefined)
    return true
  }

  #malice(deed: Extract<Deed, { readonly kind: 'malice' }>): boolean {
    const random = new SeededRandom(deed.seed)
    const { network, lied } = this.#options
    const send = (member: Member, life: Life, left: number): void => {
      if (left === 0 || member.life !== life) return
      for (const to of this.#ids()) {
        const ends = { from: nodeId(member.id), to: nodeId(to), term: life.node.status.term }
        if (to === member.id) continue
        network.inject(impossibleMessage(random, ends), ends.from, ends.to)
        if (random.chance(0.05))
          network.stream(ends.from, impossibleState(random, ends), noState).catch(() => undefined)
      }
      this.#later(deed.everyMs, `m${member.id} lies`, () => send(member, life, left - 1))
    }
    return this.#running(deed, (member, life) => {
      lied()
      send(member, life, deed.messages)
    })
  }

  #spoilLinks(deed: LinkDeed): boolean {
    switch (deed.kind) {
      case 'isolate': {
        const { id } = this.#target(deed.target)
        if (deed.way !== 'deaf') this.#impose(this.#pairs(id, 'all'), { kind: 'cut' }, deed.forMs)
        if (deed.way !== 'mute') this.#impose(reversed(this.#pairs(id, 'all')), { kind: 'cut' }, deed.forMs)
        return true
      }
      case 'halves':
        this.#cutUnless((a, b) => ((deed.sides >> (a - 1)) & 1) === ((deed.sides >> (b - 1)) & 1), deed.forMs)
        return true
      case 'ring': {
        const ids = this.#ids()
        const known = deed.order.filter((id) => ids.includes(id))
        const order = [...known, ...ids.filter((id) => !known.includes(id))]
        this.#cutUnless((a, b) => neighbours(order, a, b), deed.forMs)
        return true
      }
      case 'one-way':
        if (deed.from === deed.to) return false
        this.#impose([[deed.from, deed.to]], { kind: 'cut' }, deed.forMs)
        return true
      case 'flapping':
        this.#flap(this.#target(deed.target).id, deed.periodMs, deed.forMs)
        return true
      case 'half-open': {
        const condition: Condition = { kind: 'half-open', silentMs: deed.silentMs }
        return this.#impose(this.#pairs(this.#target(deed.target).id, deed.other), condition, deed.forMs)
      }
      case 'slow-link': {
        const condition: Condition = { kind: 'slow', extraMs: deed.extraMs }
        return this.#impose(this.#pairs(this.#target(deed.target).id, deed.other), condition, deed.forMs)
      }
      case 'clogged-link': {
        const { messageMs, queueMax } = deed
        const condition: Condition = { kind: 'clogged', messageMs, queueMax }
        return this.#impose(this.#pairs(this.#target(deed.target).id, deed.other), condition, deed.forMs)
      }
      default:
        return assertNever(deed)
    }
  }

  /** Step by step: a leader that heard nothing for a while would doubt itself too early. */
  #depose(deed: Extract<Deed, { readonly kind: 'depose' }>, step: number): boolean {
    const { lateMs, calls, forMs } = deed
    const { id } = this.#target({ ...deed.target, preferLeader: step === 1 && deed.target.preferLeader })
    const again = { ...deed, target: { member: id, preferLeader: false } }
    const extraMs = (lateMs * step) / deposeSteps
    const isLast = step === deposeSteps
    const heard = reversed(this.#pairs(id, 'all'))
    this.#impose(heard, { kind: 'slow', extraMs }, isLast ? forMs : deposeStepMs)
    this.#hurry(id, calls, isLast ? forMs : deposeStepMs)
    if (isLast) this.#impose(this.#pairs(id, 'all'), { kind: 'cut' }, forMs)
    else this.#later(deposeStepMs, `deposes m${id}`, () => this.#depose(again, step + 1))
    return true
  }

  /** What a leader takes into its log that nobody hears of is in its way when it comes back. */
  #hurry(id: number, calls: number, forMs: number): void {
    const { hurry } = this.#options
    for (let atMs = 0; atMs < forMs; atMs += hurryEveryMs) {
      this.#later(atMs, `hurries to m${id}`, () => {
        for (const other of this.#ids()) hurry(other, 'write', 1)
        hurry(id, 'read', calls)
      })
    }
  }

  #cutUnless(together: (a: number, b: number) => boolean, forMs: number): void {
    const pairs: Pair[] = []
    for (const a of this.#ids())
      for (const b of this.#ids()) if (a !== b && !together(a, b)) pairs.push([a, b])
    this.#impose(pairs, { kind: 'cut' }, forMs)
  }

  #flap(id: number, periodMs: number, leftMs: number): void {
    if (leftMs <= 0) return
    const both = [...this.#pairs(id, 'all'), ...reversed(this.#pairs(id, 'all'))]
    this.#impose(both, { kind: 'cut' }, periodMs / 2)
    this.#later(periodMs, `flaps m${id}`, () => this.#flap(id, periodMs, leftMs - periodMs))
  }

  #impose(pairs: readonly Pair[], condition: Condition, forMs: number): boolean {
    const { network } = this.#options
    const ends = pairs.map(([from, to]) => network.impose(nodeId(from), nodeId(to), condition))
    this.#later(forMs, `mends ${pairs.length} links`, () => {
      for (const end of ends) end()
    })
    return pairs.length > 0
  }

  #pairs(id: number, other: number | 'all'): readonly Pair[] {
    const others = other === 'all' ? this.#ids() : [other]
    return others.filter((one) => one !== id).map((one) => [id, one])
  }

  #ids(): readonly number[] {
    return this.#options.members.map(({ id }) => id)
  }

  #target(target: Target): Member {
    return findTarget(
      this.#options.members.filter(({ hasLeft }) => !hasLeft),
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

type Pair = readonly [from: number, to: number]
type LinkDeed = Extract<
  Deed,
  {
    readonly kind:
      'isolate' | 'halves' | 'ring' | 'one-way' | 'flapping' | 'half-open' | 'slow-link' | 'clogged-link'
  }
>

const deposeSteps = 5
/** Below an election timeout. */
const deposeStepMs = 250
const hurryEveryMs = 80
/** Whoever is to end within a write ends without one after so long. */
const writeMsMax = 500
/** A sync that never ends is noticed by somebody after this long. */
const endlessStallMs = 4_000

const crashKinds: Readonly<Record<'kill' | 'power-cut', CrashKind>> = {
  kill: 'process',
  'power-cut': 'power',
}

function reversed(pairs: readonly Pair[]): readonly Pair[] {
  return pairs.map(([from, to]) => [to, from])
}

/** On a ring; of three, where a ring would be everybody, on a line. */
function neighbours(order: readonly number[], a: number, b: number): boolean {
  const distance = Math.abs(order.indexOf(a) - order.indexOf(b))
  return distance === 1 || (order.length > 3 && distance === order.length - 1)
}
