import { assert } from '../../base/assert.ts'
import { checkCoreConfig } from './config.ts'
import type { CoreConfig } from './config.ts'
import { proposeConfiguration } from './conf-change.ts'
import { gatherReady, isReady, notePersisted } from './gather-ready.ts'
import { campaignEarly, preCampaign, tickElection } from './election.ts'
import { noteEnded, ticksUntilEarlyCampaign } from './ended-leader.ts'
import type { ChangeAnswer, ProposeAnswer, ReadAnswer, ResignAnswer, TransferAnswer } from './errors.ts'
import { leaseUntilMs, votesAlone } from './lease.ts'
import { noteSnapshot, noteUnreachable, proposeCommands, tickLeader, ticksUntilQuorumLost } from './leader.ts'
import type { Message } from './message.ts'
import { endCalm, expectLeader, ticksUntilHeartbeat } from './quiet.ts'
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
 * Consensus of one member: pure, synchronous, without clock, disk or network. The driver
 * (`driver/driver.ts`) passes inputs to it; `ready()` returns the work to do.
 *
 *     tick step propose readIndex …        ┌──────────┐  hasReady() / ready()
 *   ─────────────────────────────────────► │   Raft   │ ─────────────────────► send, persist, apply
 *   persisted applied compact supply       └──────────┘
 *   ◄───────────────────────────────────────── when done ────────────────────────────┘
 *
 * It throws only `BrokenInvariant`: then the state of this member contradicts itself, and the
 * member must stop. No message of a peer can cause that; see `violation.ts`.
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
   * Handles the passage of several units of time.
   *
   * @param isLate this member was delayed: it sends frequent heartbeats again, see `quiet.ts`
   */
  pass(ticks: number, isLate: boolean): void {
    for (let left = ticks; left > 0; left--) {
      // The other ticks passed while heartbeats were rare.
      if (isLate && left === 1) endCalm(this.#state)
      this.tick()
    }
  }

  /** The number of ticks until this member sends heartbeats, or campaigns; at least 1. */
  get ticksUntilDue(): number {
    const { role, electionDue, electionElapsed } = this.#state
    if (role === 'leader') return Math.max(1, ticksUntilHeartbeat(this.#state))
    return Math.max(1, Math.min(electionDue - electionElapsed, ticksUntilEarlyCampaign(this.#state)))
  }

  /**
   * The number of ticks until this member campaigns, or steps down as a leader, if no message
   * arrives. Zero or less: that is overdue.
   */
  get ticksUntilTimeout(): number {
    const { role, electionDue, electionElapsed } = this.#state
    return role === 'leader' ? ticksUntilQuorumLost(this.#state) : electionDue - electionElapsed
  }

  /**
   * Handles a message of a peer's core. A `snapshot` message is passed only once its whole state is
   * staged. The core has accepted it if the next Ready contains it as `persist.snapshot`; otherwise
   * the staged state is not needed and may be discarded.
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
   * Appends one command for each item of `datas`, all or none. Replication is part of the next
   * Ready, so all calls before it share one message to each follower.
   *
   * @param expectedTerm the term that the commands were made for: in another term they are dropped
   */
  propose(datas: readonly Uint8Array[], expectedTerm: Term): ProposeAnswer {
    return proposeCommands(this.#state, datas, expectedTerm)
  }

  /**
   * Requests an index that covers every commit acknowledged before now. On a leader only. The next
   * Ready sends the round; all calls before that Ready share it. On a leader that has not committed
   * an entry of its term, the round waits for that.
   *
   * @param withHeartbeat the round may wait for the next heartbeat, and then needs no message of
   *   its own
   */
  readIndex(withHeartbeat = false): ReadAnswer {
    return openRead(this.#state, withHeartbeat)
  }

  /**
   * Replaces the configuration. The new one is in force at once. The change is finished once the
   * returned index is committed and, if the configuration is joint, also the entry that leaves it.
   * A change of at most one voter is made directly, others jointly.
   *
   * @param next all members of the new configuration, each with its role
   */
  changeConfiguration(next: { readonly members: readonly MemberInfo[] }): ChangeAnswer {
    return proposeConfiguration(this.#state, next.members)
  }

  /**
   * Begins a leadership transfer to `to`; proposals are dropped until it ends. A transfer that
   * takes an election timeout is abandoned: `status().transferTarget` becomes null while this
   * member still leads, and transfers to the same member are refused for a while. See
   * `transfer.ts`.
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
   * Campaigns now instead of waiting for the election timeout. Does nothing on a member that may
   * not campaign, such as a leader or a learner. To be called only if `votesAlone`: otherwise
   * another leader may count on this member's lease promise.
   */
  campaign(): void {
    preCampaign(this.#state)
  }

  /** Returns whether this member is the only voter in every configuration that may be in force. */
  get votesAlone(): boolean {
    return votesAlone(this.#state)
  }

  /**
   * Sets the current monotonic time; call it before anything that may send messages. Only leases
   * need it.
   */
  setTime(nowMs: number): void {
    this.#state.lease.nowMs = nowMs
  }

  /**
   * Sets the current wall-clock time; call it periodically. It only limits the terms that peers may
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
   * The end of the lease, on the clock of `setTime`: until then no other leader commits anything;
   * 0: there is no lease. A message that ends the lease is sent with the next Ready, so the lease
   * can be revoked before it.
   */
  get leaseUntilMs(): number {
    return leaseUntilMs(this.#state)
  }

  /** May return true without work; returns false only if there is no work. */
  hasReady(): boolean {
    return isReady(this.#state)
  }

  /** Returns the work since the last call. The driver must do all of it. */
  ready(): Ready {
    return gatherReady(this.#state)
  }

  /** Reports that every write up to and including `ticket` is durable. */
  persisted(ticket: PersistTicket): void {
    notePersisted(this.#state, ticket)
  }

  /** Reports that the state machine has everything up to `index` in memory. */
  applied(index: LogIndex): void {
    assert(index <= this.#state.commit, 'only committed entries are applied')
    if (index > this.#state.applied) this.#state.applied = index
  }

  /** Reports that the log is compacted: everything up to `base.index` is durable elsewhere. */
  compact(base: SnapshotMeta): void {
    assert(base.index <= this.#state.applied, 'only applied entries are compacted')
    this.#state.log.compact(base)
  }

  /**
   * Answers an item of `Ready.fetches` with consecutive entries from its `from` on; with none if
   * they were compacted since. Then the waiting followers are checked again.
   */
  supply(entries: readonly Entry[]): void {
    supplyEntries(this.#state, entries)
  }

  /**
   * Reports that a client of this member waits for the leader: from now on a failed leader is
   * detected after the usual election timeout, even if heartbeats are rare. See `quiet.ts`.
   */
  expectLeader(): void {
    expectLeader(this.#state)
  }

  /** Reports that messages to `peer` are being lost; those in flight are presumed lost. */
  reportUnreachable(peer: NodeId): void {
    noteUnreachable(this.#state, peer)
  }

  /**
   * Reports that a peer has probably ended: no connection to or from it exists, and it did not
   * accept a new one. Or that a connection exists again. See `ended-leader.ts`.
   */
  reportEnded(peer: NodeId, hasEnded: boolean): void {
    noteEnded(this.#state, peer, hasEnded)
    campaignEarly(this.#state)
  }

  /**
   * Answers an item of `Ready.snapshotsToSend`: the peer has received the whole state, or the
   * transfer failed.
   */
  reportSnapshot(peer: NodeId, outcome: 'finished' | 'failed'): void {
    noteSnapshot(this.#state, peer, outcome)
  }

  status(): CoreStatus {
    return describeStatus(this.#state)
  }

  /**
   * Grows by one with each proof of contact with a quorum: on a leader when a quorum responded
   * since its last heartbeat, on a follower with each message of its leader. The driver records the
   * time at which it grew.
   */
  get quorumContacts(): number {
    return this.#state.quorumContacts
  }

  /** Cheaper than `status()`, for checks on every proposal. */
  get term(): Term {
    return this.#state.term
  }

  /** The leader of this term, which may be this member; null: not known. */
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
