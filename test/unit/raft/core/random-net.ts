import { assert, present } from '../../../../raft/base/assert.ts'
import { SeededRandom } from '../../../../raft/base/random.ts'
import type { CoreConfig } from '../../../../raft/core/config.ts'
import { describeConfiguration, describeMessage } from '../../../../raft/core/describe.ts'
import type { Message } from '../../../../raft/core/message.ts'
import type { Ready } from '../../../../raft/core/ready.ts'
import { noIndex, noTerm, nodeId } from '../../../../raft/core/types.ts'
import type { LogIndex, NodeId } from '../../../../raft/core/types.ts'
import { Member, entryAt, newDisk } from '../../../scenario/member.ts'
import { cluster, people } from '../../../scenario/people.ts'
import { Witness } from './witness.ts'

/** How wild one run is; drawn from its seed, so that some runs are calm and others are not. */
type Swarm = {
  readonly loss: number
  readonly copies: number
  readonly crashes: number
  readonly cuts: number
  readonly changes: number
  readonly slowDisks: number
  readonly partitions: number
  readonly pauses: number
}

/** Cores only, on a network that loses, repeats and reorders, and on disks that are slow and crash. */
export class RandomNet {
  readonly #random: SeededRandom
  #swarm: Swarm
  readonly members = new Map<NodeId, Member>()
  readonly witness: Witness
  readonly trace: string[] = []
  #messages: Message[] = []
  #cutOff: ReadonlySet<NodeId> = new Set()
  /** Does nothing and hears nothing, but goes on later as if nothing had been. */
  #paused: NodeId | null = null
  #commands = 0

  constructor(seed: number) {
    this.#random = new SeededRandom(seed)
    const random = this.#random
    this.#swarm = {
      loss: random.pick([0, 0.02, 0.2]),
      copies: random.pick([0, 0.05, 0.2]),
      crashes: random.pick([0, 0.002, 0.01]),
      cuts: random.pick([0, 0.01, 0.05]),
      changes: random.pick([0, 0.005, 0.02]),
      slowDisks: random.pick([0, 0.3, 0.8]),
      partitions: random.pick([0, 0.001, 0.004]),
      pauses: random.pick([0, 0.001, 0.004]),
    }
    this.witness = new Witness(this.members)
    const configuration = cluster([1, 2, 3], random.pick([[], [4], [4, 5]]))
    for (let id = 1; id <= 5; id++) {
      const known = configuration.members.some((member) => member.id === id)
      const disk = newDisk(known ? configuration : cluster([]), noIndex, noTerm)
      this.members.set(nodeId(id), new Member(this.#configOf(id), disk))
    }
  }

  /** Anything may happen. */
  step(): void {
    const random = this.#random
    const member = random.pick([...this.members.values()])
    if (random.chance(this.#swarm.pauses)) this.#pause()
    if (member.id === this.#paused) return
    if (random.chance(this.#swarm.crashes)) this.#crash(member)
    else if (random.chance(this.#swarm.cuts)) this.#cut(member)
    else if (random.chance(this.#swarm.changes)) this.#change(member)
    else if (random.chance(this.#swarm.partitions)) this.#partition()
    else if (random.chance(0.25)) member.raft.tick()
    else if (random.chance(0.1)) this.#propose(member)
    else if (random.chance(0.12)) this.witness.noteRead(member, member.raft.readIndex())
    else if (random.chance(0.002)) member.raft.transferLeadership(random.pick([...this.members.keys()]))
    else if (random.chance(0.001)) member.raft.campaign()
    else if (random.chance(0.01)) member.raft.reportUnreachable(random.pick([...this.members.keys()]))
    else if (random.chance(0.4)) this.#finishWrite(member)
    else this.#deliver()
    this.#work(member)
  }

  /** Everything is well from now on: the rest must follow. @returns whether all agree in the end */
  heal(): boolean {
    this.#cutOff = new Set()
    this.#paused = null
    this.#swarm = { ...this.#swarm, loss: 0, copies: 0, slowDisks: 0 }
    for (let round = 0; round < 400; round++) {
      for (const member of this.members.values()) {
        member.raft.tick()
        this.#work(member)
        while (member.underWay.length > 0) this.#send(member.finishWrite())
      }
      const messages = this.#messages
      this.#messages = []
      for (const message of messages) this.#hand(message)
      const leader = [...this.members.values()].find((member) => member.raft.status().role === 'leader')
      if (round % 50 === 20 && leader !== undefined) this.#propose(leader)
      if (round > 300 && this.#agree()) return true
    }
    return false
  }

  /** Where everyone stands, for a report. */
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
      this.witness.noteReady(member, ready)
      this.#send(ready.messagesAtOnce)
      for (const { from, bytesMax } of ready.fetches) member.fetch(from, bytesMax)
      for (const to of ready.snapshotsToSend) this.#sendSnapshot(member, to)
      this.#maybeFinish(member, ready)
    }
  }

  #maybeFinish(member: Member, ready: Ready): void {
    if (ready.persist === null || this.#random.chance(this.#swarm.slowDisks)) return
    while (member.underWay.length > 0) this.#finishWrite(member)
  }

  #finishWrite(member: Member): void {
    if (member.underWay.length === 0) return
    const messages = member.finishWrite()
    this.witness.noteDisk(member)
    this.#send(messages)
  }

  #sendSnapshot(member: Member, to: NodeId): void {
    const { term, leader } = member.raft.status()
    if (leader !== member.id || this.#random.chance(this.#swarm.loss)) {
      return member.raft.reportSnapshot(to, 'failed')
    }
    this.#send([{ kind: 'snapshot', from: member.id, to, term, snapshot: member.snapshot() }])
  }

  #send(messages: readonly Message[]): void {
    for (const message of messages) {
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
    // Mostly in order, sometimes far from it.
    const at = this.#random.chance(0.8) ? 0 : this.#random.below(this.#messages.length)
    const message = present(this.#messages.splice(at, 1)[0], 'a message waits')
    if (message.to === this.#paused) return this.#lose(message)
    if (this.#cutOff.has(message.from) !== this.#cutOff.has(message.to)) {
      return this.#lose(message)
    }
    this.#hand(message)
    this.#work(this.#member(message.to))
  }

  /** A stream that breaks is noticed by its sender; a message is not. */
  #lose(message: Message): void {
    if (message.kind === 'snapshot') this.#member(message.from).raft.reportSnapshot(message.to, 'failed')
  }

  #hand(message: Message): void {
    this.#note(describeMessage(message))
    this.#member(message.to).raft.step(message)
    if (message.kind === 'snapshot') this.#member(message.from).raft.reportSnapshot(message.to, 'finished')
  }

  #crash(member: Member): void {
    this.#note(`${member.id} crashes`)
    this.witness.noteCrash(member)
    member.flush()
    member.crash(this.#random.below(member.underWay.length + 1))
    this.witness.noteDisk(member)
  }

  #cut(member: Member): void {
    member.flush()
    const span = member.disk.applied - member.memory.base.index
    if (span <= 0) return
    const index = (member.memory.base.index + 1 + this.#random.below(span)) as LogIndex
    if (entryAt(member.memory, index) === null || index > member.raft.status().persistedIndex) return
    member.cut(index)
  }

  #change(member: Member): void {
    const ids = [1, 2, 3, 4, 5].filter(() => this.#random.chance(0.7))
    const voters = ids.filter(() => this.#random.chance(0.7))
    const learners = ids.filter((id) => !voters.includes(id))
    const answer = member.raft.changeConfiguration({ members: people(voters, learners) })
    this.#note(`${member.id} change voters=${voters.join()} learners=${learners.join()} ${answer.kind}`)
  }

  #partition(): void {
    this.#cutOff = new Set([...this.members.keys()].filter(() => this.#random.chance(0.4)))
    this.#note(`cut off ${[...this.#cutOff].join()}`)
  }

  /** Leaders most of all: they wake up in another world. */
  #pause(): void {
    const leader = [...this.members.values()].find((member) => member.raft.status().role === 'leader')
    const someone = this.#random.pick([...this.members.keys()])
    this.#paused = this.#paused !== null ? null : (leader?.id ?? someone)
    this.#note(`paused ${this.#paused ?? 'nobody'}`)
  }

  #propose(member: Member): void {
    const data = Uint8Array.of(this.#commands & 0xff, (this.#commands >> 8) & 0xff)
    this.#commands++
    member.raft.propose([data, data], member.raft.term)
  }

  #configOf(id: number): CoreConfig {
    return {
      id: nodeId(id),
      electionTicks: 10,
      heartbeatTicks: 2,
      appendBytesMax: 100,
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
