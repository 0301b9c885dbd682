import { assert, present } from '../../base/assert.ts'
import { SeededRandom } from '../../base/random.ts'
import type { CoreConfig } from '../../raft/core/config.ts'
import {
  describeConfiguration,
  describeEntry,
  describeHardState,
  describeMessage,
  describeSnapshot,
} from '../../raft/core/describe.ts'
import type { Message } from '../../raft/core/message.ts'
import type { Ready, Transition } from '../../raft/core/ready.ts'
import { nodeId } from '../../raft/core/types.ts'
import type { Entry, NodeId } from '../../raft/core/types.ts'
import { Member } from './member.ts'

/**
 * All that a transcript can talk about: members, what is between them, and what was written down so
 * far.
 */
export class World {
  readonly members = new Map<NodeId, Member>()
  /** Sent and not yet delivered, in order. */
  network: Message[] = []
  /** Taken off the network for later. */
  held: Message[] = []
  /** Nothing passes between these and the others. */
  readonly isolated = new Set<NodeId>()
  /** `1->2`: nothing passes this way, whatever passes the other. */
  readonly cutLinks = new Set<string>()
  /** Their writes are finished by hand. */
  readonly slowDisks = new Set<NodeId>()
  readonly #told = new Map<NodeId, Transition>()
  #lines: string[] = []

  say(line: string): void {
    this.#lines.push(line)
  }

  /** @returns the lines written since the last call */
  takeLines(): readonly string[] {
    const lines = this.#lines
    this.#lines = []
    return lines
  }

  add(config: CoreConfig, disk: Member['disk']): void {
    this.members.set(config.id, new Member(config, disk))
  }

  member(id: string): Member {
    return present(this.members.get(nodeId(Number(id))), `there is a member ${id}`)
  }

  /** One Ready after another, until the member has no output. */
  work(member: Member): void {
    for (let turn = 0; member.raft.hasReady(); turn++) {
      assert(turn < 100, `member ${member.id} comes to rest`)
      this.#take(member)
      if (this.slowDisks.has(member.id)) continue
      while (member.underWay.length > 0) this.finishWrite(member)
    }
  }

  finishWrite(member: Member): void {
    this.#send(member.finishWrite())
  }

  /** Everyone works and everything arrives, until nothing moves. */
  stabilize(ids: readonly NodeId[]): void {
    for (let round = 0; round < 200; round++) {
      for (const id of ids) this.work(this.member(String(id)))
      const moving = this.network.filter((message) => ids.includes(message.to) && ids.includes(message.from))
      if (moving.length === 0) return
      this.network = this.network.filter((message) => !moving.includes(message))
      for (const message of moving) this.deliver(message)
    }
    assert(false, 'the world comes to rest')
  }

  deliver(message: Message): void {
    this.say(describeMessage(message, text))
    this.member(String(message.to)).hear(message)
    if (message.kind === 'snapshot') this.#reportSnapshot(message, 'finished')
  }

  lose(message: Message): void {
    this.say(`${describeMessage(message, text)} (lost)`)
    if (message.kind === 'snapshot') this.#reportSnapshot(message, 'failed')
  }

  /** Messages without a connection are lost silently. */
  #send(messages: readonly Message[]): void {
    for (const message of messages) {
      if (this.#passes(message)) this.network.push(message)
      else if (message.kind === 'snapshot') this.#reportSnapshot(message, 'failed')
    }
  }

  #passes({ from, to }: Message): boolean {
    return this.isolated.has(from) === this.isolated.has(to) && !this.cutLinks.has(`${from}->${to}`)
  }

  #reportSnapshot(message: Message, outcome: 'finished' | 'failed'): void {
    this.member(String(message.from)).raft.reportSnapshot(message.to, outcome)
  }

  #take(member: Member): void {
    const { id } = member
    const ready = member.takeReady()
    this.#send(ready.messagesAtOnce)
    if (ready.transition !== null) this.#sayTransition(id, ready.transition)
    if (ready.persist !== null) this.#sayPersist(id, ready.persist)
    if (ready.commit !== null) this.say(`${id} committed ${ready.commit}`)
    for (const { context, index } of ready.readsConfirmed) {
      this.say(`${id} read ${context} confirmed at ${index}`)
    }
    for (const context of ready.readsFailed) this.say(`${id} read ${context} failed`)
    for (const to of ready.snapshotsToSend) this.#sendSnapshot(member, to)
    for (const { from, bytesMax } of ready.fetches) {
      this.say(`${id} fetches from ${from}`)
      member.fetch(from, bytesMax)
    }
  }

  #sayTransition(id: NodeId, transition: Transition): void {
    const before = this.#told.get(id)
    this.#told.set(id, transition)
    const { role, term, leader, configuration } = transition
    const sameRole = before?.role === role && before.term === term && before.leader === leader
    if (!sameRole) this.say(`${id} is ${role} term=${term} leader=${leader ?? 'none'}`)
    if (before !== undefined && before.configuration !== configuration) {
      this.say(`${id} configuration ${describeConfiguration(configuration)}`)
    }
  }

  /** A disk that takes no time is not worth a word. */
  #sayPersist(id: NodeId, persist: NonNullable<Ready['persist']>): void {
    const { ticket, snapshot, entries, hardState } = persist
    if (snapshot !== null) this.say(`${id} restores ${describeSnapshot(snapshot)}`)
    if (!this.slowDisks.has(id)) return
    const parts = [`${id} writes #${ticket}`]
    if (hardState !== null) parts.push(describeHardState(hardState))
    if (entries.length > 0) parts.push(describeEntries(entries))
    this.say(parts.join(' '))
  }

  #sendSnapshot(member: Member, to: NodeId): void {
    const snapshot = member.snapshot()
    this.#send([{ kind: 'snapshot', from: member.id, to, term: member.raft.term, snapshot }])
  }
}

export function describeEntries(entries: readonly Entry[]): string {
  return `[${entries.map((entry) => describeEntry(entry, text)).join(', ')}]`
}

/** Same for every member: a transcript's chances are its own. */
export function scenarioConfig(id: NodeId, options: Partial<CoreConfig>): CoreConfig {
  return {
    id,
    electionTicks: 10,
    heartbeatTicks: 1,
    appendBytesMax: 1024,
    inflightMessagesMax: 8,
    inflightBytesMax: 8192,
    uncommittedBytesMax: 65536,
    logCacheBytesMax: 65536,
    readRoundsMax: 16,
    random: new SeededRandom(id),
    ...options,
  }
}

/** Transcripts propose short printable commands. */
function text(data: Uint8Array): string {
  return JSON.stringify(String.fromCharCode(...data))
}
