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
 * The state behind a transcript: the members, the network between them, and the lines printed so
 * far.
 */
export class World {
  readonly members = new Map<NodeId, Member>()
  /** Messages that were sent and not yet delivered, in order. */
  network: Message[] = []
  /** Messages that the transcript delays. */
  held: Message[] = []
  /** Members without a connection to the others. */
  readonly isolated = new Set<NodeId>()
  /** `1->2`: messages from 1 to 2 are lost, those from 2 to 1 are not. */
  readonly cutLinks = new Set<string>()
  /** Members whose writes finish only at the command of the transcript. */
  readonly slowDisks = new Set<NodeId>()
  readonly #transitions = new Map<NodeId, Transition>()
  #lines: string[] = []

  print(line: string): void {
    this.#lines.push(line)
  }

  /** @returns the lines printed since the last call */
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

  /**
   * Processes the member's output, and finishes its writes unless its disk is slow, until it has no
   * output.
   */
  work(member: Member): void {
    for (let turn = 0; member.raft.hasReady(); turn++) {
      assert(turn < 100, `member ${member.id} runs out of output`)
      this.#take(member)
      if (this.slowDisks.has(member.id)) continue
      while (member.pendingWrites.length > 0) this.finishWrite(member)
    }
  }

  finishWrite(member: Member): void {
    this.#send(member.finishWrite())
  }

  /** Runs the members and delivers their messages until there are none left. */
  stabilize(ids: readonly NodeId[]): void {
    for (let round = 0; round < 200; round++) {
      for (const id of ids) this.work(this.member(String(id)))
      const moving = this.network.filter((message) => ids.includes(message.to) && ids.includes(message.from))
      if (moving.length === 0) return
      this.network = this.network.filter((message) => !moving.includes(message))
      for (const message of moving) this.deliver(message)
    }
    assert(false, 'all messages are delivered')
  }

  deliver(message: Message): void {
    this.print(describeMessage(message, text))
    this.member(String(message.to)).receive(message)
    if (message.kind === 'snapshot') this.#reportSnapshot(message, 'finished')
  }

  lose(message: Message): void {
    this.print(`${describeMessage(message, text)} (lost)`)
    if (message.kind === 'snapshot') this.#reportSnapshot(message, 'failed')
  }

  /** Messages between members without a connection are lost silently. */
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
    if (ready.transition !== null) this.#printTransition(id, ready.transition)
    if (ready.persist !== null) this.#printPersist(id, ready.persist)
    if (ready.commit !== null) this.print(`${id} committed ${ready.commit}`)
    for (const { context, index } of ready.readsConfirmed) {
      this.print(`${id} read ${context} confirmed at ${index}`)
    }
    for (const context of ready.readsFailed) this.print(`${id} read ${context} failed`)
    for (const to of ready.snapshotsToSend) this.#sendSnapshot(member, to)
    for (const { from, bytesMax } of ready.fetches) {
      this.print(`${id} fetches from ${from}`)
      member.fetch(from, bytesMax)
    }
  }

  #printTransition(id: NodeId, transition: Transition): void {
    const before = this.#transitions.get(id)
    this.#transitions.set(id, transition)
    const { role, term, leader, configuration } = transition
    const sameRole = before?.role === role && before.term === term && before.leader === leader
    if (!sameRole) this.print(`${id} is ${role} term=${term} leader=${leader ?? 'none'}`)
    if (before !== undefined && before.configuration !== configuration) {
      this.print(`${id} configuration ${describeConfiguration(configuration)}`)
    }
  }

  /** Writes of a slow disk are printed, those of others only when they restore a snapshot. */
  #printPersist(id: NodeId, persist: NonNullable<Ready['persist']>): void {
    const { ticket, snapshot, entries, hardState } = persist
    if (snapshot !== null) this.print(`${id} restores ${describeSnapshot(snapshot)}`)
    if (!this.slowDisks.has(id)) return
    const parts = [`${id} writes #${ticket}`]
    if (hardState !== null) parts.push(describeHardState(hardState))
    if (entries.length > 0) parts.push(describeEntries(entries))
    this.print(parts.join(' '))
  }

  #sendSnapshot(member: Member, to: NodeId): void {
    const snapshot = member.snapshot()
    this.#send([{ kind: 'snapshot', from: member.id, to, term: member.raft.term, snapshot }])
  }
}

export function describeEntries(entries: readonly Entry[]): string {
  return `[${entries.map((entry) => describeEntry(entry, text)).join(', ')}]`
}

/** Returns the configuration of a member; its randomness is seeded by its ID. */
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
