import { assert, present } from '../../../../base/assert.ts'
import { SeededRandom } from '../../../../base/random.ts'
import type { CoreConfig } from '../../../../raft/core/config.ts'
import { describeConfiguration, describeMessage } from '../../../../raft/core/describe.ts'
import { planChange } from '../../../../raft/core/member-change.ts'
import type { MemberChange } from '../../../../raft/core/member-change.ts'
import type { Message, MessageKind } from '../../../../raft/core/message.ts'
import type { Ready } from '../../../../raft/core/ready.ts'
import { logIndex, noIndex, noTerm, nodeId } from '../../../../raft/core/types.ts'
import type { LogIndex, NodeId } from '../../../../raft/core/types.ts'
import { Member, entryAt, newDisk } from '../../../scenario/member.ts'
import { knowledgeOf } from '../../../scenario/knowledge.ts'
import { cluster, memberInfos, memberInfo } from '../../../scenario/member-infos.ts'
import { drawSwarm } from './swarm.ts'
import type { Swarm } from './swarm.ts'
import { SafetyObserver } from './safety-observer.ts'

/** Number of old messages of a kind that may be repeated. */
const replayable = 20

/**
 * A cluster of cores on a network that loses, repeats and reorders messages, with slow disks and
 * crashes.
 */
export class RandomNet {
  readonly #random: SeededRandom
  #swarm: Swarm
  readonly members = new Map<NodeId, Member>()
  readonly observer: SafetyObserver
  readonly trace: string[] = []
  #messages: Message[] = []
  #cutOff: ReadonlySet<NodeId> = new Set()
  /** The links that are blocked in one direction, such as `1->2`. */
  readonly #cutLinks = new Set<string>()
  readonly #old = new Map<MessageKind, Message[]>()
  readonly #fetches: (() => void)[] = []
  /** The stalled member: it does and receives nothing, and continues later without noticing. */
  #paused: NodeId | null = null
  #commands = 0

  constructor(seed: number) {
    this.#random = new SeededRandom(seed)
    const random = this.#random
    this.#swarm = drawSwarm(random)
    this.observer = new SafetyObserver(this.members)
    const voters = random.pick([[1, 2, 3], [1, 2, 3], [1, 2, 3, 4], [1, 2, 3, 4, 5], [1, 2], [1]])
    const learners = random.pick([[], [4], [4, 5]])
    const configuration = cluster(
      voters,
      learners.filter((id) => !voters.includes(id)),
    )
    for (let id = 1; id <= 5; id++) {
      const known = configuration.members.some((member) => member.id === id)
      // Without changes, non-members stay non-members.
      if (!known && this.#swarm.changes === 0) continue
      const disk = newDisk(known ? configuration : cluster([]), noIndex, noTerm)
      this.members.set(nodeId(id), new Member(this.#configOf(id), disk))
    }
  }

  /** Performs one random event. */
  step(): void {
    const random = this.#random
    const member = random.pick([...this.members.values()])
    if (random.chance(this.#swarm.pauses)) this.#pause()
    if (member.id === this.#paused) return
    if (random.chance(this.#swarm.crashes)) this.#crash(this.#leaderOr(member))
    else if (random.chance(this.#swarm.compactions)) this.#compact(member)
    else if (random.chance(this.#swarm.changes)) this.#change(member)
    else if (random.chance(this.#swarm.partitions)) this.#partition()
    else if (random.chance(this.#swarm.oneWayCuts)) this.#cutOneWay()
    else if (random.chance(this.#swarm.replays)) this.#replay()
    else if (random.chance(this.#swarm.transfers)) this.#transfer(member)
    else if (random.chance(0.25)) this.#tick(member)
    else if (random.chance(0.1)) this.#propose(member)
    else if (random.chance(0.12)) this.observer.noteRead(member, member.raft.readIndex(random.chance(0.4)))
    else if (random.chance(0.05)) this.#answerFetch()
    else if (random.chance(this.#swarm.campaigns)) member.raft.campaign()
    else if (random.chance(0.01)) member.raft.reportUnreachable(random.pick([...this.members.keys()]))
    else if (random.chance(this.#swarm.ends)) this.#reportEnded(this.#leaderOr(member).id)
    else if (random.chance(0.4)) this.#finishWrite(member)
    else this.#deliver()
    this.#work(member)
  }

  /** Heals all faults. @returns whether all members agree in the end */
  heal(): boolean {
    this.#cutOff = new Set()
    this.#cutLinks.clear()
    this.#paused = null
    this.#swarm = { ...this.#swarm, loss: 0, copies: 0, slowDisks: 0, slowReads: 0 }
    while (this.#fetches.length > 0) this.#answerFetch()
    for (let round = 0; round < 400; round++) {
      for (const member of this.members.values()) {
        member.raft.tick()
        this.#work(member)
        while (member.pendingWrites.length > 0) this.#send(member.finishWrite())
      }
      const messages = this.#messages
      this.#messages = []
      for (const message of messages) {
        this.#hand(message)
        this.#work(this.#member(message.to))
      }
      const leader = [...this.members.values()].find((member) => member.raft.status().role === 'leader')
      if (round % 50 === 20 && leader !== undefined) this.#propose(leader)
      if (round >= 100 && this.#agree()) return true
    }
    return false
  }

  /** Describes the state of all members, for a report. */
  describe(): string {
    const lines = [...this.members.values()].map((member) => {
      const { id, role, term, commit, firstIndex, lastIndex, configuration } = member.raft.status()
      const log = `${firstIndex}-${lastIndex} commit=${commit}`
      return `${id} ${role} term=${term} ${log} ${describeConfiguration(configuration)}`
    })
    return lines.join('\n')
  }

  #agree(): boolean {
    const leader = [...this.members.values()].find((member) => member.raft.status().role === 'leader')
    if (leader === undefined) return false
    const { configuration, commit, lastIndex } = leader.raft.status()
    if (commit !== lastIndex || configuration.votersOutgoing !== null) return false
    return configuration.members.every(({ id }) => this.#member(id).raft.status().commit === commit)
  }

  #work(member: Member): void {
    while (member.raft.hasReady()) {
      const ready = member.takeReady()
      this.observer.noteReady(member, ready)
      this.#send(ready.messagesAtOnce)
      for (const { from, bytesMax } of ready.fetches) this.#fetch(member, from, bytesMax)
      for (const to of ready.snapshotsToSend) this.#sendSnapshot(member, to)
      this.#maybeFinish(member, ready)
    }
  }

  #maybeFinish(member: Member, ready: Ready): void {
    if (ready.persist === null || this.#random.chance(this.#swarm.slowDisks)) return
    while (member.pendingWrites.length > 0) this.#finishWrite(member)
  }

  #finishWrite(member: Member): void {
    if (member.pendingWrites.length === 0) return
    const messages = member.finishWrite()
    this.observer.noteDisk(member)
    this.#send(messages)
  }

  /**
   * Reads the log now, or only when the fetch is answered, from a log that may have changed since.
   * A crash drops the fetch.
   */
  #fetch(member: Member, from: LogIndex, bytesMax: number): void {
    const { raft } = member
    const read = this.#random.chance(0.5) ? member.readDisk(from, bytesMax) : null
    const answer = (): void => {
      if (raft === member.raft) raft.supply(read ?? member.readDisk(from, bytesMax))
    }
    this.#fetches.push(answer)
    if (!this.#random.chance(this.#swarm.slowReads)) while (this.#fetches.length > 0) this.#answerFetch()
  }

  #answerFetch(): void {
    this.#fetches.shift()?.()
  }

  #sendSnapshot(member: Member, to: NodeId): void {
    const { term, leader } = member.raft.status()
    if (leader !== member.id || this.#random.chance(this.#swarm.loss)) {
      return member.raft.reportSnapshot(to, 'failed')
    }
    this.#send([{ kind: 'snapshot', from: member.id, to, term, snapshot: member.snapshot() }])
  }

  #send(messages: readonly Message[]): void {
    this.observer.noteSent(messages)
    for (const message of messages) {
      this.#keep(message)
      if (this.#random.chance(this.#swarm.loss) || this.#messages.length > 2000) {
        this.#lose(message)
        continue
      }
      this.#messages.push(message)
      if (this.#random.chance(this.#swarm.copies)) this.#messages.push(message)
    }
  }

  #deliver(): void {
    if (this.#messages.length === 0) return
    // Messages are delivered mostly in order, and sometimes far out of order.
    const at = !this.#random.chance(this.#swarm.reorder) ? 0 : this.#random.below(this.#messages.length)
    const message = present(this.#messages.splice(at, 1)[0], 'a message waits')
    if (message.to === this.#paused) return this.#lose(message)
    if (!this.#passes(message)) return this.#lose(message)
    this.#hand(message)
    this.#work(this.#member(message.to))
  }

  #passes({ from, to }: Message): boolean {
    return this.#cutOff.has(from) === this.#cutOff.has(to) && !this.#cutLinks.has(`${from}->${to}`)
  }

  /** Keeps messages for repetition. A snapshot is streamed: its end is reported once. */
  #keep(message: Message): void {
    if (this.#swarm.replays === 0 || message.kind === 'snapshot') return
    const kept = this.#old.get(message.kind) ?? []
    this.#old.set(message.kind, kept)
    if (kept.length < replayable) kept.push(message)
    else {
      kept.splice(this.#random.below(replayable), 1)
      kept.push(message)
    }
  }

  #replay(): void {
    if (this.#old.size === 0) return
    const kept = this.#random.pick([...this.#old.values()])
    const latest = present(kept.at(-1), 'a kind that was kept has a message')
    this.#messages.push(this.#random.chance(0.5) ? latest : this.#random.pick(kept))
  }

  /** The sender notices a broken stream, but not a lost message. */
  #lose(message: Message): void {
    if (message.kind === 'snapshot') this.#member(message.from).raft.reportSnapshot(message.to, 'failed')
  }

  #hand(message: Message): void {
    this.#note(describeMessage(message))
    this.#member(message.to).receive(message)
    if (message.kind === 'vote-request') this.observer.noteVoteRequest(this.#member(message.to), message)
    if (message.kind === 'snapshot') this.#member(message.from).raft.reportSnapshot(message.to, 'finished')
  }

  #crash(member: Member): void {
    this.#note(`${member.id} crashes`)
    this.observer.noteCrash(member)
    member.flush()
    member.crash(this.#random.below(member.pendingWrites.length + 1))
    this.observer.noteDisk(member)
  }

  #compact(member: Member): void {
    member.flush()
    const span = member.disk.applied - member.memory.base.index
    if (span <= 0) return
    const index = (member.memory.base.index + 1 + this.#random.below(span)) as LogIndex
    if (entryAt(member.memory, index) === null || index > member.raft.status().persistedIndex) return
    member.compact(index)
  }

  /**
   * Requests a membership change as an operator would, planned by `planChange`; or an arbitrary
   * configuration.
   */
  #change(member: Member): void {
    if (this.#random.chance(0.5)) return this.#requestChange(member)
    const ids = [1, 2, 3, 4, 5].filter(() => this.#random.chance(0.7))
    const voters = ids.filter(() => this.#random.chance(0.7))
    const learners = ids.filter((id) => !voters.includes(id))
    const answer = member.raft.changeConfiguration({ members: memberInfos(voters, learners) })
    this.#note(`${member.id} change voters=${voters.join()} learners=${learners.join()} ${answer.kind}`)
  }

  #requestChange({ id, raft }: Member): void {
    if (raft.leader !== id) return
    const change = this.#drawChange()
    const plan = planChange(raft.configuration, change, knowledgeOf(raft))
    const answer = plan.kind === 'change' ? raft.changeConfiguration(plan).kind : plan.kind
    this.#note(`${id} request ${JSON.stringify(change)} ${answer}`)
  }

  #drawChange(): MemberChange {
    const random = this.#random
    const number = 1 + random.below(5)
    const id = nodeId(number)
    switch (random.below(5)) {
      case 0: {
        const { name, peerAddress, clientAddress, version, featureLevel } = memberInfo(number, 'learner')
        const replaces = random.chance(0.5) ? null : nodeId(1 + random.below(5))
        const facts = { peerAddress, clientAddress, version, featureLevel, replaces, addedMs: 1 }
        // Ids are few and reused here: checking that is not the task of the core.
        const basedOn = logIndex(Number.MAX_SAFE_INTEGER)
        return { kind: 'add', member: { id, name, wantedRole: 'voter', ...facts }, basedOn }
      }
      case 1:
        return { kind: 'remove', id }
      case 2:
        return { kind: 'set-role', id, role: random.pick(['voter', 'learner']) }
      default:
        return { kind: 'promote', id }
    }
  }

  /** Transfers leadership to some member, or resigns. */
  #transfer(member: Member): void {
    if (this.#random.chance(0.2)) return this.#note(`${member.id} resigns: ${member.raft.resign().kind}`)
    const to = this.#random.pick([...this.members.keys()])
    this.#note(`${member.id} transfers to ${to}: ${member.raft.transferLeadership(to).kind}`)
  }

  #tick(member: Member): void {
    member.raft.tick()
    if (member.id === this.#swarm.hasty) member.raft.tick()
  }

  /** Reports to some members that this one has ended, or is connected again. */
  #reportEnded(id: NodeId): void {
    const hasEnded = this.#random.chance(0.8)
    this.#note(`${id} ${hasEnded ? 'seems to have ended' : 'is connected'}`)
    for (const member of this.members.values()) {
      if (member.id === this.#paused || this.#random.chance(0.2)) continue
      member.raft.reportEnded(id, hasEnded)
      this.#work(member)
    }
  }

  /** Sometimes all links are healed. */
  #cutOneWay(): void {
    const ids = [...this.members.keys()]
    const [from, to] = [this.#random.pick(ids), this.#random.pick(ids)]
    if (this.#random.chance(0.3)) this.#cutLinks.clear()
    else this.#cutLinks.add(`${from}->${to}`)
    this.#note(`cut ${[...this.#cutLinks].join()}`)
  }

  #partition(): void {
    // A leader in a minority makes logs diverge.
    const leader = this.#leaderOr(null)?.id
    this.#cutOff = new Set(
      [...this.members.keys()].filter(
        (id) => id === leader || this.#random.chance(leader === undefined ? 0.4 : 0.2),
      ),
    )
    this.#note(`cut off ${[...this.#cutOff].join()}`)
  }

  /**
   * Mostly leaders are stalled: they continue in a changed cluster, and may be read from at once.
   */
  #pause(): void {
    const resumed = this.#paused
    const member = this.#random.pick([...this.members.values()])
    this.#paused = resumed !== null ? null : this.#leaderOr(member).id
    if (resumed !== null) {
      const member = this.#member(resumed)
      this.observer.noteRead(member, member.raft.readIndex(this.#random.chance(0.4)))
      this.#work(member)
    }
    this.#note(`paused ${this.#paused ?? 'none'}`)
  }

  /** A leader in half of the cases, for faults that are worst for a leader. */
  #leaderOr<Other>(other: Other): Member | Other {
    if (this.#random.chance(0.5)) return other
    const leaders = [...this.members.values()].filter(({ raft, id }) => raft.leader === id)
    return leaders.length === 0 ? other : this.#random.pick(leaders)
  }

  #propose(member: Member): void {
    const data = Uint8Array.of(this.#commands & 0xff, (this.#commands >> 8) & 0xff)
    this.#commands++
    member.raft.propose([data, data], member.raft.term)
  }

  #configOf(id: number): CoreConfig {
    return {
      id: nodeId(id),
      electionTicks: this.#swarm.electionTicks,
      heartbeatTicks: 1,
      quietHeartbeatTicks: 4,
      appendBytesMax: this.#swarm.appendBytesMax,
      inflightMessagesMax: 3,
      inflightBytesMax: 250,
      uncommittedBytesMax: 2000,
      logCacheBytesMax: 300,
      readRoundsMax: 8,
      random: this.#random.fork(),
    }
  }

  #member(id: NodeId): Member {
    return present(this.members.get(id), `member ${id} exists`)
  }

  #note(line: string): void {
    this.trace.push(line)
    if (this.trace.length > 400) this.trace.splice(0, 200)
    assert(this.trace.length <= 400, 'the trace is bounded')
  }
}
