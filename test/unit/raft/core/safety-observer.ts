import { assert } from '../../../../base/assert.ts'
import type { ReadAnswer } from '../../../../raft/core/errors.ts'
import type { Message, ReadContext } from '../../../../raft/core/message.ts'
import { isQuorum } from '../../../../raft/core/quorum.ts'
import type { Ready } from '../../../../raft/core/ready.ts'
import type { Entry, LogIndex, NodeId, Term } from '../../../../raft/core/types.ts'
import { entryAt, lastIndexOf, termAt } from '../../../scenario/member.ts'
import type { Member } from '../../../scenario/member.ts'

type Committed = { readonly entry: Entry; readonly seenInTerm: Term }

/**
 * Observes all members and records facts that no single member has: the leader of each term, the
 * committed entries, and what was acknowledged before each read. Raft paper figure 3.
 */
export class SafetyObserver {
  readonly #members: ReadonlyMap<NodeId, Member>
  readonly #leaders = new Map<Term, NodeId>()
  /** Voter and term of each checked vote: a repeated request may find a longer log. */
  readonly #votes = new Set<string>()
  readonly #seen = new Map<string, { readonly entry: Entry; readonly previousTerm: Term | null }>()
  /** The committed entries by index. */
  readonly #committed = new Map<LogIndex, Committed>()
  #commit = 0
  /** The commit index when each read was opened. */
  readonly #reads = new Map<NodeId, Map<ReadContext, number>>()
  confirmedReads = 0

  constructor(members: ReadonlyMap<NodeId, Member>) {
    this.#members = members
  }

  get commit(): number {
    return this.#commit
  }

  noteReady(member: Member, ready: Ready): void {
    for (const entry of ready.persist?.entries ?? []) this.#noteEntry(member, entry)
    if (ready.transition?.role === 'leader') this.#noteLeader(member)
    if (member.raft.leader === member.id) this.#checkChanges(member)
    if (ready.commit !== null) this.#noteCommit(member, ready.commit)
    if (ready.persist !== null) this.#checkConfiguration(member)
    for (const { context, index } of ready.readsConfirmed) {
      const least = this.#reads.get(member.id)?.get(context)
      assert(least !== undefined, 'a read is confirmed once, on the process that opened it')
      assert(index >= least, 'a read sees everything acknowledged before it')
      this.#reads.get(member.id)?.delete(context)
      this.confirmedReads++
    }
    for (const context of ready.readsFailed) this.#reads.get(member.id)?.delete(context)
  }

  /** Checks that messages about durable state are sent only after it is durable. */
  noteSent(messages: readonly Message[]): void {
    for (const message of messages) {
      const member = this.#members.get(message.from)
      if (member === undefined || member.raft.term !== message.term) continue
      const { term, vote } = member.disk.hardState
      switch (message.kind) {
        case 'vote-request':
          assert(
            term === message.term && vote === message.from,
            'a candidate requests votes with a durable vote',
          )
          this.#checkDisk(member, message.lastIndex, message.lastTerm)
          break
        case 'vote-response':
          if (!message.granted) break
          assert(term === message.term && vote === message.to, 'a granted vote is durable')
          break
        case 'append-accepted':
          this.#checkDisk(member, message.index, termAt(member.memory, message.index))
          break
        default:
      }
    }
  }

  /** Raft paper §5.4.1. To be called right after `voter` handled the request. */
  noteVoteRequest(voter: Member, request: Extract<Message, { kind: 'vote-request' }>): void {
    const { term, vote } = voter.raft.status()
    const key = `${voter.id} in ${term}`
    if (term !== request.term || vote !== request.from || this.#votes.has(key)) return
    this.#votes.add(key)
    const own = lastOf(voter)
    assert(
      request.lastTerm > own.term || (request.lastTerm === own.term && request.lastIndex >= own.index),
      `election restriction: ${voter.id} with ${own.term}/${own.index} votes for ` +
        `${request.from} with ${request.lastTerm}/${request.lastIndex}`,
    )
  }

  #checkDisk({ id, disk }: Member, index: LogIndex, term: Term | null): void {
    // Everything compacted was committed, and so is everything that a snapshot replaces.
    if (index <= disk.base.index || term === null) return
    assert(termAt(disk, index) === term, `disk ${id} has ${term}/${index} when it is acknowledged`)
  }

  noteRead(member: Member, answer: ReadAnswer): void {
    if (answer.kind === 'dropped') return
    const reads = this.#reads.get(member.id) ?? new Map<ReadContext, number>()
    reads.set(answer.context, this.#commit)
    this.#reads.set(member.id, reads)
  }

  noteCrash(member: Member): void {
    this.#reads.delete(member.id)
  }

  /** Checks that a disk does not contradict its committed entries. */
  noteDisk(member: Member): void {
    const { commit } = member.disk.hardState
    assert(commit <= lastIndexOf(member.disk), 'the commit index on a disk is within its log')
    for (let index = commit; index > member.disk.base.index; index--) {
      const [entry, committed] = [entryAt(member.disk, index), this.#committed.get(index)]
      if (committed === undefined) continue
      assert(entry?.term === committed.entry.term, `entry ${index} is committed as disk ${member.id} has it`)
    }
  }

  #noteEntry(member: Member, entry: Entry): void {
    const key = `${entry.term}/${entry.index}`
    const previousTerm = termAt(member.memory, (entry.index - 1) as LogIndex)
    const seen = this.#seen.get(key)
    if (seen === undefined) {
      this.#seen.set(key, { entry, previousTerm })
      return
    }
    assert(sameEntry(seen.entry, entry), `log matching: ${key} is one entry`)
    assert(seen.previousTerm === previousTerm, `log matching: what precedes ${key} is one log`)
  }

  #noteLeader(member: Member): void {
    const { term } = member.raft.status()
    const other = this.#leaders.get(term)
    assert(other === undefined || other === member.id, `election safety: term ${term} has one leader`)
    this.#leaders.set(term, member.id)
    if (other === undefined) this.#checkElection(member)
    for (const [index, { entry, seenInTerm }] of this.#committed) {
      if (seenInTerm >= term || index <= member.memory.base.index) continue
      assert(
        termAt(member.memory, index) === entry.term,
        `leader completeness: the leader of ${term} has ${entry.term}/${index}`,
      )
    }
  }

  #checkElection({ id: leader, raft }: Member): void {
    const { term, configuration } = raft.status()
    // A member in a later term no longer has its earlier votes.
    const votedFor = (id: NodeId): boolean => {
      const hardState = this.#members.get(id)?.disk.hardState
      if (hardState === undefined || hardState.term < term) return false
      return hardState.term > term || hardState.vote === leader
    }
    assert(isQuorum(configuration, votedFor), `the leader of ${term} was elected by a quorum`)
  }

  #noteCommit(member: Member, commit: LogIndex): void {
    const { memory } = member
    const { role, term, configuration } = member.raft.status()
    // Raft paper §5.4.2. It knew of the commits of earlier terms as a follower.
    assert(role !== 'leader' || termAt(memory, commit) === term, 'a leader commits by an entry of its term')
    for (let at = memory.base.index + 1; at <= commit; at++) {
      const index = at as LogIndex
      const entry = entryAt(memory, index)
      assert(entry !== null, 'a committed entry exists')
      const known = this.#committed.get(index)
      if (known !== undefined) {
        assert(sameEntry(known.entry, entry), `state machine safety: one entry is committed at ${index}`)
      } else {
        this.#committed.set(index, { entry, seenInTerm: term })
        if (role === 'leader' && index === commit) {
          assert(
            isQuorum(configuration, (id) => this.#isOnDisk(id, entry)),
            `the committed entry ${index} is durable at a quorum`,
          )
        }
      }
    }
    this.#commit = Math.max(this.#commit, commit)
  }

  /** Thesis §4.1: a configuration is appended only after the previous one is committed. */
  #checkChanges({ memory, raft }: Member): void {
    const undecided = memory.entries.filter(
      ({ index, kind }) => index > raft.commit && kind === 'configuration',
    )
    assert(undecided.length <= 1, 'a leader has at most one uncommitted configuration')
    if (undecided[0]?.term !== raft.term) return
    // A correction of the thesis, of 2015: otherwise the majorities of two leaders' changes might
    // not overlap.
    assert(
      termAt(memory, raft.commit) === raft.term,
      'a leader changes no configuration before it has committed an entry',
    )
  }

  /** Thesis §4.1: the latest configuration in the log is in force, committed or not. */
  #checkConfiguration({ id, memory, raft }: Member): void {
    const latest = memory.entries.findLast((entry) => entry.kind === 'configuration')
    const expected = latest?.kind === 'configuration' ? latest.configuration : memory.base.configuration
    const { voters, votersOutgoing } = raft.status().configuration
    const same = String(voters) === String(expected.voters)
    const sameOutgoing = String(votersOutgoing) === String(expected.votersOutgoing)
    assert(same && sameOutgoing, `the configuration in force at ${id} is the latest in its log`)
  }

  #isOnDisk(id: NodeId, entry: Entry): boolean {
    const disk = this.#members.get(id)?.disk
    if (disk === undefined) return false
    return disk.base.index >= entry.index || termAt(disk, entry.index) === entry.term
  }
}

function lastOf({ memory }: Member): { readonly index: LogIndex; readonly term: Term } {
  return { index: lastIndexOf(memory), term: memory.entries.at(-1)?.term ?? memory.base.term }
}

function sameEntry(a: Entry, b: Entry): boolean {
  if (a.term !== b.term || a.index !== b.index || a.kind !== b.kind) return false
  if (a.kind !== 'command' || b.kind !== 'command') return true
  return a.data.length === b.data.length && a.data.every((byte, at) => byte === b.data[at])
}
