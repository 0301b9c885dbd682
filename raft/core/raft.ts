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
 * One member's part in consensus: pure, synchronous, without clock, disk or network. The shell
 * tells it what happened; `ready()` says what must be done.
 *
 *     tick step propose readIndex …        ┌──────────┐  hasReady() / ready()
 *   ─────────────────────────────────────► │   Raft   │ ─────────────────────► send, persist, apply
 *     persisted applied cut supply         └──────────┘
 *   ◄───────────────────────────────────────── when done ────────────────────────────┘
 *
 * Nothing here throws but `BrokenInvariant`: then this member contradicts itself and must stop. No
 * message of a peer can bring that about; see `violation.ts`.
 *
 * @source Ongaro and Ousterhout, "In Search of an Understandable Consensus Algorithm"; Ongaro's
 * thesis.
 */
export class Raft {
  readonly #state: State

  /**
   * @param applied what the state machine already holds durably; at least the base, at most the
   * last index
   */
  constructor(config: CoreConfig, recovered: Recovered, applied: LogIndex = recovered.base.index) {
    checkCoreConfig(config)
    this.#state = newState(config, recovered, applied)
  }

  /** One unit of time passed. */
  tick(): void {
    if (this.#state.role === 'leader') tickLeader(this.#state)
    else tickElection(this.#state)
  }

  /**
   * A peer's core said `message`. One of kind `snapshot` only once all of the state is staged; it
   * was taken if the next Ready names it in `persist.snapshot`, else the staged state is not needed
   * and may be discarded.
   *
   * @returns why the message cannot be true, in one line: nothing was changed by it, and its sender
   * is not to be heard any
   *   further on that link; null when all is well
   */
  step(message: Message): string | null {
    return step(this.#state, message)
  }

  /** Returns why `message` cannot be true, without taking it; see `step`. */
  violation(message: Message): string | null {
    return violationOf(this.#state, message)
  }

  /**
   * Appends one command per datum, all or none. Replication leaves with the next Ready, so calls of
   * one turn travel in one message.
   *
   * @param expectedTerm the term the commands were made for; void in another
   */
  propose(datas: readonly Uint8Array[], expectedTerm: Term): ProposeAnswer {
    return proposeCommands(this.#state, datas, expectedTerm)
  }

  /**
   * Asks for an index that is at least every commit acknowledged before now. On a leader only. The
   * round is opened by the next Ready; all calls before it share it. A read on a leader that has
   * not committed an entry of its term waits for that.
   */
  readIndex(): ReadAnswer {
    return openRead(this.#state)
  }

  /**
   * Replaces the membership. In force at once; done once the returned index, and after a joint
   * configuration the entry that leaves it, is committed. A change of at most one voter is made
   * directly, others jointly.
   *
   * @param next everyone who shall be a member, each with the role it shall have
   */
  changeConfiguration(next: { readonly members: readonly MemberInfo[] }): ChangeAnswer {
    return proposeConfiguration(this.#state, next.members)
  }

  /**
   * Begins to hand leadership to `to`; proposals are dropped meanwhile. Given up after an election
   * timeout (`status().transferTarget` turns null while still leader), and then refused for some.
   * See `transfer.ts`.
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
   * Stands now instead of waiting for the election timeout. Does nothing on a leader or a
   * non-voter. A leader elsewhere may count on this member to wait, unless it votes alone.
   */
  campaign(): void {
    preCampaign(this.#state)
  }

  /** This member is the only voter in every configuration that may be in force. */
  get votesAlone(): boolean {
    return votesAlone(this.#state)
  }

  /** The shell's monotonic time, before anything that may be sent then. Only leases need it. */
  setTime(nowMs: number): void {
    this.#state.lease.nowMs = nowMs
  }

  /**
   * The shell's wall clock, now and then. It only bounds the terms that peers may claim, see
   * `termMaxAt`.
   */
  setWallTime(wallMs: number): void {
    this.#state.termMax = termMaxAt(wallMs)
  }

  /** Sets whether this member tries to hold a lease while it leads. */
  wantLease(wanted: boolean): void {
    this.#state.lease.wanted = wanted
  }

  /**
   * Until when, on the clock of `setTime`, the commit index here is the newest there is; 0: not
   * known without a round. Nothing that gives it away leaves before the next Ready.
   */
  get leaseUntilMs(): number {
    return leaseUntilMs(this.#state)
  }

  /** May return true without work; returns false only when there is none. */
  hasReady(): boolean {
    return isReady(this.#state)
  }

  /** All that is due since the last call. Its duties are now the shell's. */
  ready(): Ready {
    return gatherReady(this.#state)
  }

  /** Every write up to and including `ticket` is durable. */
  persisted(ticket: PersistTicket): void {
    notePersisted(this.#state, ticket)
  }

  /** The state machine holds everything up to `index` in memory. */
  applied(index: LogIndex): void {
    assert(index <= this.#state.commit, 'only what is committed is applied')
    if (index > this.#state.applied) this.#state.applied = index
  }

  /** The shell has cut the log: everything at and below `base.index` is durable elsewhere. */
  compact(base: SnapshotMeta): void {
    assert(base.index <= this.#state.applied, 'only what is applied is cut')
    this.#state.log.compact(base)
  }

  /**
   * Answers a `Ready.fetches` with consecutive entries from its `from` on. Empty when they were cut
   * meanwhile: whoever waits is looked at again.
   */
  supply(entries: readonly Entry[]): void {
    supplyEntries(this.#state, entries)
  }

  /** Nothing sent to `peer` right now arrives; what was under way is presumed lost. */
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
   * Grows by one with each proof that a quorum is in touch: on a leader when a quorum answered
   * since its last heartbeat, on a follower with each word of its leader. The shell notes the time
   * at which it saw it grow.
   */
  get quorumContacts(): number {
    return this.#state.quorumContacts
  }

  /** Cheaper than `status()`: for questions asked on every proposal. */
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

  /** In force: the latest in the log, decided or not. */
  get configuration(): Configuration {
    return this.#state.log.configuration
  }

  /**
   * The latest configuration that is known to be committed, and where it stands, or stood in a log
   * that was cut.
   */
  get decided(): { readonly index: LogIndex; readonly configuration: Configuration } {
    return this.#state.log.configurationAt(this.#state.commit)
  }

  /**
   * The latest entry that is committed and durable here; null while a snapshot replaces the log.
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
