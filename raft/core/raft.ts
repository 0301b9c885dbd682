import { assert } from '../../base/assert.ts'
import { checkCoreConfig } from './config.ts'
import type { CoreConfig } from './config.ts'
import { proposeConfiguration } from './conf-change.ts'
import { gatherReady, isReady, notePersisted } from './gather-ready.ts'
import { preCampaign, tickElection } from './election.ts'
import type { ChangeAnswer, ProposeAnswer, ReadAnswer, ResignAnswer, TransferAnswer } from './errors.ts'
import { leaseUntilMs, votesAlone } from './lease.ts'
import { noteSnapshot, noteUnreachable, proposeCommands, tickLeader } from './leader.ts'
import type { Message } from './message.ts'
import { endCalm, expectLeader } from './quiet.ts'
import { openRead } from './read-index.ts'
import type { CoreStatus, PersistTicket, Ready } from './ready.ts'
import { supplyEntries } from './replication.ts'
import { resign } from './resign.ts'
import { committedInTerm, newState } from './state.ts'
import type { Recovered, State } from './state.ts'
import { describeStatus } from './status.ts'
import { startTransfer } from './transfer.ts'
import { step } from './step.ts'
import type { Configuration, Entry, LogIndex, MemberInfo, NodeId, SnapshotMeta, Term } from './types.ts'
import { termMaxAt } from './term-limit.ts'
import { violationOf } from './violation.ts'

/**
 * Consensus of one member: pure, synchronous, without clock, disk or network. The shell passes
 * inputs to it; `ready()` returns the work to do.
 *
 *     tick step propose readIndex …        ┌──────────┐  hasReady() / ready()
 *   ─────────────────────────────────────► │   Raft   │ ─────────────────────► send, persist, apply
 *   persisted applied compact supply       └──────────┘
 *   ◄───────────────────────────────────────── when done ────────────────────────────┘
 *
 * It throws only `BrokenInvariant`: then this member contradicts itself and must stop. No message
 * of a peer can cause that; see `violation.ts`.
 *
 * @source Ongaro and Ousterhout, "In Search of an Understandable Consensus Algorithm"; Ongaro's
 *   thesis.
 */
export class Raft {
  readonly #state: State

  /**
   * @param applied index that the state machine durably holds; at least the base, at most the last
   *   index
   */
  constructor(config: CoreConfig, recovered: Recovered, applied: LogIndex = recovered.base.index) {
    checkCoreConfig(config)
    this.#state = newState(config, recovered, applied)
  }

  /** Handles the passage of one unit of time. */
  tick(): void {
    if (this.#state.role === 'leader') tickLeader(this.#state)
    else tickElection(this.#state)
  }

  /**
   * Handles a message of a peer's core. A `snapshot` message only once all of its state is staged;
   * it was accepted if the next Ready names it in `persist.snapshot`, otherwise the staged state is
   * not needed and may be discarded.
   *
   * @returns why the message is impossible, in one line: it changed nothing, and the link of its
   *   sender is to be closed; null when it is valid
   */
  step(message: Message): string | null {
    return step(this.#state, message)
  }

  /** Returns why `message` is impossible, without handling it; see `step`. */
  violation(message: Message): string | null {
    return violationOf(this.#state, message)
  }

  /**
   * Appends one command per datum, all or none. Replication is part of the next Ready, so calls of
   * one turn share one message.
   *
   * @param expectedTerm the term that the commands were made for; void in another
   */
  propose(datas: readonly Uint8Array[], expectedTerm: Term): ProposeAnswer {
    return proposeCommands(this.#state, datas, expectedTerm)
  }

  /**
   * Requests an index that is at least every commit acknowledged before now. On a leader only. The
   * round is opened by the next Ready; all calls before it share it. A read on a leader that has
   * not committed an entry of its term waits for that.
   */
  readIndex(): ReadAnswer {
    return openRead(this.#state)
  }

  /**
   * Replaces the membership. In force at once; finished once the returned index is committed and,
   * if the configuration is joint, also the entry that leaves it. A change of at most one voter is
   * made directly, others jointly.
   *
   * @param next all members of the new configuration, each with its role
   */
  changeConfiguration(next: { readonly members: readonly MemberInfo[] }): ChangeAnswer {
    return proposeConfiguration(this.#state, next.members)
  }

  /**
   * Begins a leadership transfer to `to`; proposals are dropped until it ends. Abandoned after an
   * election timeout (`status().transferTarget` turns null while still leader), and then refused
   * for a while. See `transfer.ts`.
   */
  transferLeadership(to: NodeId): TransferAnswer {
    return startTransfer(this.#state, to)
  }

  /**
   * Steps down without a transfer target, and does not campaign for four to five election timeouts.
   * See `resign.ts`.
   */
  resign(): ResignAnswer {
    return resign(this.#state)
  }

  /**
   * Campaigns now instead of waiting for the election timeout. Does nothing on a leader or a
   * non-voter. To be called only if `votesAlone`: otherwise another leader may count on this
   * member's lease promise.
   */
  campaign(): void {
    preCampaign(this.#state)
  }

  /** Returns whether this member is the only voter in every configuration that may be in force. */
  get votesAlone(): boolean {
    return votesAlone(this.#state)
  }

  /**
   * Sets the shell's monotonic time; call it before anything that may send messages. Only leases
   * need it.
   */
  setTime(nowMs: number): void {
    this.#state.lease.nowMs = nowMs
  }

  /**
   * Sets the shell's wall clock, called periodically. It only limits the terms that peers may
   * claim, see `termMaxAt`.
   */
  setWallTime(wallMs: number): void {
    this.#state.termMax = termMaxAt(wallMs)
  }

  /** Sets whether this member tries to hold a lease while it leads. */
  wantLease(wanted: boolean): void {
    this.#state.lease.wanted = wanted
  }

  /**
   * The time on the clock of `setTime` until which the commit index here is the latest; 0: not
   * known without a round. Messages that end the lease are only part of the next Ready.
   */
  get leaseUntilMs(): number {
    return leaseUntilMs(this.#state)
  }

  /** May return true without work; returns false only if there is no work. */
  hasReady(): boolean {
    return isReady(this.#state)
  }

  /** Returns the work since the last call. The shell must do all of it. */
  ready(): Ready {
    return gatherReady(this.#state)
  }

  /** Every write up to and including `ticket` is durable. */
  persisted(ticket: PersistTicket): void {
    notePersisted(this.#state, ticket)
  }

  /** The state machine has everything up to `index` in memory. */
  applied(index: LogIndex): void {
    assert(index <= this.#state.commit, 'only committed entries are applied')
    if (index > this.#state.applied) this.#state.applied = index
  }

  /** The shell compacted the log: everything at and below `base.index` is durable elsewhere. */
  compact(base: SnapshotMeta): void {
    assert(base.index <= this.#state.applied, 'only applied entries are compacted')
    this.#state.log.compact(base)
  }

  /**
   * Answers a `Ready.fetches` with consecutive entries from its `from` on. Empty when they were
   * compacted since: the waiting followers are then checked again.
   */
  supply(entries: readonly Entry[]): void {
    supplyEntries(this.#state, entries)
  }

  /**
   * A client of this member waits for the leader: if the leader failed, this is noticed within an
   * election timeout from now even if heartbeats are rare. See `quiet.ts`.
   */
  expectLeader(): void {
    expectLeader(this.#state)
  }

  /** This member was delayed: heartbeats are frequent again. See `quiet.ts`. */
  endQuiet(): void {
    endCalm(this.#state)
  }

  /** Messages to `peer` are currently lost; those in flight are presumed lost. */
  reportUnreachable(peer: NodeId): void {
    noteUnreachable(this.#state, peer)
  }

  /**
   * Completes a `Ready.snapshotsToSend`: the peer has received all of the state, or the transfer
   * failed.
   */
  reportSnapshot(peer: NodeId, outcome: 'finished' | 'failed'): void {
    noteSnapshot(this.#state, peer, outcome)
  }

  status(): CoreStatus {
    return describeStatus(this.#state)
  }

  /**
   * Grows by one with each proof of contact with a quorum: on a leader when a quorum responded
   * since its last heartbeat, on a follower with each message of its leader. The shell records the
   * time at which it grew.
   */
  get quorumContacts(): number {
    return this.#state.quorumContacts
  }

  /** Cheaper than `status()`, for checks on every proposal. */
  get term(): Term {
    return this.#state.term
  }

  /** Known in this term, or null; on the leader its own id. */
  get leader(): NodeId | null {
    return this.#state.leader
  }

  get commit(): LogIndex {
    return this.#state.commit
  }

  /** The configuration in force: the latest in the log, committed or not. */
  get configuration(): Configuration {
    return this.#state.log.configuration
  }

  /**
   * The latest configuration that is known to be committed, and its index: of its entry, or of the
   * base of the log if the entry was compacted.
   */
  get decided(): { readonly index: LogIndex; readonly configuration: Configuration } {
    return this.#state.log.configurationAt(this.#state.commit)
  }

  /**
   * The latest entry that is committed and durable on this member; null while a snapshot replaces
   * the log.
   */
  get durablyCommitted(): SnapshotMeta | null {
    const { log, commit } = this.#state
    if (log.restoring) return null
    const index = log.persisted < commit ? log.persisted : commit
    const term = log.termAt(index)
    if (term === null) return null
    return { index, term, configuration: log.configurationAt(index).configuration }
  }

  /**
   * Returns whether an entry of this term is committed. A leader changes the membership only then.
   */
  get settled(): boolean {
    return committedInTerm(this.#state)
  }
}
