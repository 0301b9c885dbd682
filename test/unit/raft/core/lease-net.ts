import { present } from '../../../../base/assert.ts'
import { SeededRandom } from '../../../../base/random.ts'
import type { CoreConfig } from '../../../../raft/core/config.ts'
import { describeMessage } from '../../../../raft/core/describe.ts'
import type { Message } from '../../../../raft/core/message.ts'
import { noIndex, noTerm, nodeId } from '../../../../raft/core/types.ts'
import { SharedLease } from '../../../../raft/protocol/shared-lease.ts'
import { LeaseKeeper } from '../../../../raft/driver/lease-keeper.ts'
import { Member, newDisk } from '../../../scenario/member.ts'
import { cluster, memberInfos } from '../../../scenario/member-infos.ts'
import { scenarioConfig } from '../../../scenario/world.ts'

const tickMs = 10
const electionTicks = 10
/** Election timeouts, in ticks, to draw from when a process is restarted with another one. */
const otherTicks = [6, 10, 10, 30]

/**
 * Returns settings with the lease promises that `coreConfigOf` computes for such timeouts.
 *
 * @param longest the longest election timeout, in ticks, that this member was ever started with
 */
function timeouts(ticks: number, longest: number): Partial<CoreConfig> {
  const promise = {
    electionTicks: ticks,
    heartbeatTicks: 2,
    quietHeartbeatTicks: 6,
    leasePromiseMs: (ticks - 2) * tickMs,
  }
  return longest > ticks ? { ...promise, formerPromiseTicks: longest + 1 } : promise
}

/**
 * Deviation of each clock from the true time, in either direction: two together less than
 * `leaseDriftMax`.
 */
const driftMax = 0.045

/**
 * Members with their own clocks: cores, and the raft thread's half of leases. Time advances a ms at
 * a time; messages take time, sometimes very long; members stall, crash, are disconnected, transfer
 * leadership and change the voters. After each ms it is checked that only the leader elected last
 * holds a lease.
 */
export class LeaseNet {
  readonly #random: SeededRandom
  readonly #members: TimedMember[] = []
  readonly #inTransit: { readonly atMs: number; readonly message: Message }[] = []
  readonly trace: string[] = []
  #now = 0
  #cutOff: ReadonlySet<number> = new Set()
  /** The member that is disconnected from leaders only, in both directions, and since when. */
  #isolated: { readonly id: number; readonly sinceMs: number } | null = null
  /** The latest term of any leader so far. */
  #latestTerm = 0
  /** Milliseconds in which a member held a lease, and terms with a lease. */
  readonly seen = { leasedMs: 0, leaseTerms: new Set<number>(), elections: 0 }

  constructor(seed: number) {
    this.#random = new SeededRandom(seed)
    const voters = this.#random.pick([[1, 2, 3], [1, 2, 3], [1, 2, 3, 4, 5], [1, 2, 3, 4], [1, 2], [1]])
    const configuration = cluster(voters)
    for (let id = 1; id <= 5; id++) {
      const config = scenarioConfig(nodeId(id), {
        ...timeouts(electionTicks, electionTicks),
        random: this.#random.fork(),
      })
      const known = voters.includes(id)
      const member = new Member(config, newDisk(known ? configuration : cluster([]), noIndex, noTerm))
      const rate = 1 + (this.#random.below(2001) / 1000 - 1) * driftMax
      const clock = { rate, raftZero: this.#random.below(1_000_000), apiZero: this.#random.below(1_000_000) }
      const lease = new SharedLease()
      const keeper = new LeaseKeeper(member.raft, lease)
      const ticksMax = electionTicks
      this.#members.push({
        member,
        ...clock,
        ticksMax,
        lease,
        keeper,
        tickAt: 0,
        updatedAt: 0,
        awakeAt: 0,
        writesAt: null,
      })
    }
  }

  /** Advances by one ms. @throws when a lease is held without leadership */
  step(): void {
    this.#now++
    if (this.#random.chance(0.02)) this.#injectFault()
    for (const timed of this.#members) if (timed.awakeAt <= this.#now) this.#advance(timed)
    this.#campaignIsolated()
    const due = this.#inTransit.filter(({ atMs }) => atMs <= this.#now)
    for (const one of due) {
      this.#inTransit.splice(this.#inTransit.indexOf(one), 1)
      this.#deliver(one.message)
    }
    this.#checkLeases()
  }

  #advance(timed: TimedMember): void {
    const { member, keeper } = timed
    if (this.#now >= timed.updatedAt) {
      timed.updatedAt = this.#now + 200
      // The message was in transit for a while.
      const sent = this.#now - this.#random.below(4)
      keeper.update(true, sent * timed.rate + timed.apiZero, this.#raftMs(timed))
    }
    if (this.#now >= timed.tickAt) {
      // A timer may fire a little early, and later ticks do not compensate for that.
      timed.tickAt = this.#now + (tickMs - this.#random.below(1000) / 2000) / timed.rate
      keeper.updateTime(this.#raftMs(timed))
      member.raft.tick()
      this.#work(timed)
    }
    if (timed.writesAt !== null && this.#now >= timed.writesAt) {
      timed.writesAt = null
      while (member.pendingWrites.length > 0) this.#send(member.finishWrite())
      this.#work(timed)
    }
  }

  /**
   * A member without contact to a leader for long enough campaigns repeatedly: only the votes of
   * the others must prevent its election.
   */
  #campaignIsolated(): void {
    if (this.#isolated === null || this.#now < this.#isolated.sinceMs + 2 * electionTicks * tickMs) return
    const timed = this.#memberOf(this.#isolated.id)
    if (timed.awakeAt > this.#now || timed.member.raft.leader !== null || !this.#random.chance(0.2)) return
    timed.member.raft.campaign()
    this.#work(timed)
  }

  #work(timed: TimedMember): void {
    const { member, keeper } = timed
    keeper.updateTime(this.#raftMs(timed))
    while (member.raft.hasReady()) {
      const ready = member.takeReady()
      keeper.publish()
      this.#send(ready.messagesAtOnce)
      for (const { from, bytesMax } of ready.fetches) member.fetch(from, bytesMax)
      for (const to of ready.snapshotsToSend) member.raft.reportSnapshot(to, 'failed')
      if (ready.persist !== null) timed.writesAt ??= this.#now + this.#random.below(15)
    }
    keeper.publish()
    const { role, term } = member.raft.status()
    if (role !== 'leader' || term <= this.#latestTerm) return
    this.#latestTerm = term
    this.seen.elections++
    this.#note(`${member.id} leads ${term}`)
  }

  #send(messages: readonly Message[]): void {
    for (const message of messages) {
      if (this.#random.chance(0.02)) continue
      const far = this.#random.chance(0.03) ? this.#random.below(600) : 0
      this.#inTransit.push({ atMs: this.#now + 1 + this.#random.below(6) + far, message })
    }
  }

  #deliver(message: Message): void {
    const { from, to } = message
    if (this.#cutOff.has(from) !== this.#cutOff.has(to) || this.#isUndeliverable(message)) return
    const timed = this.#memberOf(to)
    if (timed.awakeAt > this.#now) {
      // The message waits in the socket.
      this.#inTransit.push({ atMs: timed.awakeAt, message })
      return
    }
    if (message.kind !== 'heartbeat' && message.kind !== 'heartbeat-response') {
      this.#note(describeMessage(message))
    }
    timed.keeper.updateTime(this.#raftMs(timed))
    timed.member.receive(message)
    this.#work(timed)
  }

  #isUndeliverable({ from, to }: Message): boolean {
    const { id } = this.#isolated ?? { id: 0 }
    if (from !== id && to !== id) return false
    const { raft } = this.#memberOf(from === id ? to : from).member
    return raft.leader === raft.status().id
  }

  #injectFault(): void {
    const random = this.#random
    const leaders = this.#members.filter(({ member }) => member.raft.leader === member.id)
    const timed = leaders.length > 0 && random.chance(0.5) ? random.pick(leaders) : random.pick(this.#members)
    const { member } = timed
    switch (random.below(10)) {
      case 0:
        timed.awakeAt = this.#now + random.below(random.chance(0.3) ? 500 : 120)
        return this.#note(`${member.id} is stalled until ${timed.awakeAt}`)
      case 1:
        return this.#crash(timed)
      case 2:
        this.#cutOff = new Set(this.#members.map((one) => one.member.id).filter(() => random.chance(0.3)))
        return this.#note(`cut off ${[...this.#cutOff].join()}`)
      case 3: {
        if (random.chance(0.2)) {
          if (member.raft.resign().kind === 'accepted') this.#note(`${member.id} resigns`)
          break
        }
        const to = nodeId(1 + random.below(5))
        const answer = member.raft.transferLeadership(to)
        if (answer.kind === 'accepted') this.#note(`${member.id} transfers to ${to}`)
        break
      }
      case 4: {
        const voters = [1, 2, 3, 4, 5].filter(() => random.chance(0.6))
        const answer = member.raft.changeConfiguration({ members: memberInfos(voters) })
        if (answer.kind === 'accepted') this.#note(`${member.id} changes to ${voters.join()}`)
        break
      }
      case 5:
        member.raft.propose([Uint8Array.of(1)], member.raft.term)
        break
      case 6:
        this.#isolated = random.chance(0.3) ? null : { id: 1 + random.below(5), sinceMs: this.#now }
        return this.#note(`isolated is ${this.#isolated?.id ?? 'none'}`)
      case 7:
        return this.#reportEnded(timed)
      default:
        this.#cutOff = new Set()
    }
    if (timed.awakeAt <= this.#now) this.#work(timed)
  }

  /** Reports to some members that this one has ended, or is connected again. */
  #reportEnded({ member: { id } }: TimedMember): void {
    const hasEnded = this.#random.chance(0.8)
    this.#note(`${id} ${hasEnded ? 'seems to have ended' : 'is connected'}`)
    for (const timed of this.#members) {
      if (timed.awakeAt > this.#now || this.#random.chance(0.2)) continue
      timed.keeper.updateTime(this.#raftMs(timed))
      timed.member.raft.reportEnded(id, hasEnded)
      this.#work(timed)
    }
  }

  #crash(timed: TimedMember): void {
    const { member, lease } = timed
    this.#note(`${member.id} crashes`)
    member.flush()
    const ticks = this.#random.chance(0.3) ? this.#random.pick(otherTicks) : electionTicks
    const next = { ...timeouts(ticks, timed.ticksMax), random: this.#random.fork() }
    timed.ticksMax = Math.max(timed.ticksMax, ticks)
    member.crash(this.#random.below(member.pendingWrites.length + 1), scenarioConfig(member.id, next))
    timed.writesAt = null
    // The process ends and loses its memory; the next one starts a moment later.
    lease.revoke()
    timed.lease = new SharedLease()
    timed.keeper = new LeaseKeeper(member.raft, timed.lease)
    timed.awakeAt = this.#now + this.#random.below(30)
    timed.updatedAt = timed.awakeAt
    if (this.#isolated?.id === member.id) this.#isolated = { id: member.id, sinceMs: this.#now }
    // The driver does the same.
    if (member.raft.votesAlone) member.raft.campaign()
  }

  /** The checked property: a member with a lease is the leader of the latest term. */
  #checkLeases(): void {
    for (const { member, lease, rate, apiZero } of this.#members) {
      if (lease.untilMs <= this.#now * rate + apiZero) continue
      this.seen.leasedMs++
      this.seen.leaseTerms.add(lease.term)
      if (lease.term >= this.#latestTerm) continue
      throw new Error(`${member.id} reads by a lease of term ${lease.term} in term ${this.#latestTerm}`)
    }
  }

  #raftMs({ rate, raftZero }: TimedMember): number {
    return this.#now * rate + raftZero
  }

  #memberOf(id: number): TimedMember {
    return present(this.#members[id - 1], `member ${id} exists`)
  }

  #note(line: string): void {
    this.trace.push(`${this.#now} ${line}`)
    if (this.trace.length > 400) this.trace.splice(0, 200)
  }
}

type TimedMember = {
  readonly member: Member
  /** Rate of its clock; the same for both threads. */
  readonly rate: number
  readonly raftZero: number
  readonly apiZero: number
  /**
   * The longest election timeout that a process of it was started with, as recorded in its data
   * directory.
   */
  ticksMax: number
  lease: SharedLease
  keeper: LeaseKeeper
  /**
   * True time in ms of its next tick, of the next message of its api thread, of the end of its
   * stall, and of the completion of its disk write.
   */
  tickAt: number
  updatedAt: number
  awakeAt: number
  writesAt: number | null
}
