import { assert } from '../../base/assert.ts'
import { termMaxAt } from './term-limit.ts'
import type { CoreConfig } from './config.ts'
import { RaftLog } from './log.ts'
import type { Message, ReadContext } from './message.ts'
import { nothingReported } from './reported-state.ts'
import type { ReportedState } from './reported-state.ts'
import type { Progress } from './progress.ts'
import type { Dropped, PersistTicket, Ready, Role, Transition } from './ready.ts'
import { noIndex, noTerm } from './types.ts'
import type { Configuration, HardState, LogIndex, NodeId, SnapshotMeta, Term } from './types.ts'

/**
 * The durable state found at start, as the core needs it. A `RecoveredLog` (`ports.ts`) can be
 * passed as one.
 */
export type Recovered = {
  readonly hardState: HardState
  readonly base: SnapshotMeta
  readonly configuration: Configuration
  readonly configurations: readonly { readonly index: LogIndex; readonly configuration: Configuration }[]
  readonly lastIndex: LogIndex
  readonly lastTerm: Term
  readonly termRuns: readonly { readonly first: LogIndex; readonly term: Term }[]
}

/** State of the rules in `lease.ts`. */
export type Lease = {
  /** Whether this member tries to hold a lease while it leads. */
  wanted: boolean
  /** The latest time of `Raft.setTime`, in ms; messages are sent then or later. */
  nowMs: number
  /** Leader: a timeout-now message was sent in this term. */
  endedByTransfer: boolean
  /**
   * Ticks since the last message of a leader, or since the start; negative after a quiet heartbeat.
   * Begins at `electionTicks` if no earlier process can have made a promise.
   */
  silentTicks: number
  /**
   * Ticks since the last response with a promise, or since the start. Begins at `electionTicks` if
   * no earlier process can have made a promise.
   */
  promisedTicks: number
  /** Remaining ticks of the promise of an earlier process; no message shortens it. */
  formerPromiseTicks: number
}

/** State of the rules in `read-index.ts`. */
export type Reads = {
  /** Context of the next round. Not reset by a new term. */
  nextContext: number
  /** Oldest first; those with an index were sent. */
  readonly rounds: ReadRound[]
  /** The latest context that was sent, or null; heartbeats repeat it while any round waits. */
  sent: ReadContext | null
}

/** @param withHeartbeat the round may wait for the next heartbeat */
export type ReadRound = { readonly context: ReadContext; index: LogIndex | null; withHeartbeat: boolean }

/** The whole state of one core. `raft.ts` shows which functions change it, and when. */
export type State = {
  readonly config: CoreConfig
  readonly id: NodeId
  readonly log: RaftLog

  /** The next four fields are `readonly`, because only `transitions.ts` writes them. */
  readonly role: Role
  readonly term: Term
  readonly vote: NodeId | null
  /** The leader of this term, which may be this member; null: not known. */
  readonly leader: NodeId | null

  /** applied <= commit <= log.lastIndex. Never goes back. */
  commit: LogIndex
  applied: LogIndex

  /**
   * Ticks since the last contact with the leader, the last granted vote or the last election
   * timeout; on the leader since the last CheckQuorum. A change of role resets it. Negative after a
   * quiet heartbeat.
   */
  electionElapsed: number
  /**
   * Election timeout, drawn at every transition: between electionTicks and twice as many; more
   * after `resign`. At the start in term 0: `firstElectionTicks`, if set.
   */
  electionDue: number
  /** The leader whose message came last, and its term; null: none since the start. */
  followed: { readonly leader: NodeId; readonly term: Term } | null
  /** The peers that have ended, as the transport reported: at most all members. */
  readonly ended: Set<NodeId>
  /**
   * Ticks since this member requested pre-votes or granted one. More after the report that the
   * leader has ended, so that the first early campaign comes sooner; see `ended-leader.ts`.
   */
  earlyElapsed: number
  heartbeatElapsed: number
  /** Leader: ticks without anything to replicate, see `quiet.ts`. */
  calmTicks: number

  /**
   * Follower: the last index that it has accepted from the leader of this term, or will accept once
   * the entry is durable.
   */
  acceptedTo: LogIndex

  /**
   * Responses to the requests of the (pre-)candidate, true for a granted vote. A candidate's own
   * vote is added once it is durable.
   */
  readonly votes: Map<NodeId, boolean>

  /** Leader: all other members of the configuration. Empty in other roles. */
  readonly progress: Map<NodeId, Progress>
  /** Leader: first index of this term, that of the empty entry. */
  leaderTermStart: LogIndex
  /** Leader: bytes of the entries of its term above the commit index. */
  uncommittedBytes: number
  transfer: { readonly to: NodeId; elapsed: number } | null
  readonly reads: Reads
  readonly lease: Lease
  /** See `termMaxAt`. */
  termMax: number
  /**
   * The index of the first entry of each fetch (`Ready.fetches`) that was not answered yet.
   */
  readonly fetching: Set<LogIndex>

  /** See `Raft.quorumContacts`. */
  quorumContacts: number
  /** Leader: a quorum responded since the last heartbeat, and was counted. */
  contactCounted: boolean

  readonly outbox: Outbox
}

/** The content of the next Ready, and what earlier ones reported. */
export type Outbox = {
  atOnce: Message[]
  oncePersisted: Message[]
  /** Messages that depend on earlier writes; each is sent once its ticket is durable. Ascending. */
  readonly held: { readonly ticket: PersistTicket; readonly message: Message }[]
  readsConfirmed: { readonly context: ReadContext; readonly index: LogIndex }[]
  readsFailed: ReadContext[]
  snapshotsToSend: NodeId[]
  fetches: Ready['fetches'][number][]
  /** Some follower may need an append; the next Ready checks. */
  replicationDue: boolean

  nextTicket: PersistTicket
  /** Writes that were handed to the log and are not durable yet, in order of their tickets. */
  readonly underWay: { readonly ticket: PersistTicket; readonly term: Term; readonly vote: NodeId | null }[]
  /** Term and vote as last handed to the log. */
  handed: DurableVote
  /** Term and vote as known to be durable. */
  durable: DurableVote
  commitReported: LogIndex
  commitHanded: LogIndex
  transitionReported: Transition | null
  /** The state at the last Ready. */
  reported: ReportedState
}

/** Term and vote: they must be durable before other members may rely on them. */
type DurableVote = { readonly term: Term; readonly vote: NodeId | null }

/**
 * @param applied the index that the state machine already holds, which is committed even if the
 *   commit index in the hard state is lower
 */
export function newState(config: CoreConfig, recovered: Recovered, applied: LogIndex): State {
  const { hardState, base } = recovered
  assert(recovered.lastTerm <= hardState.term, 'no entry is of a later term than the hard state')
  assert(hardState.commit <= recovered.lastIndex, 'the log reaches the known commit index')
  assert(applied <= recovered.lastIndex, 'the log reaches the durably applied index')
  const commit = Math.max(hardState.commit, base.index, applied) as LogIndex
  const promise = { term: hardState.term, vote: hardState.vote }
  return {
    config,
    id: config.id,
    log: new RaftLog(recovered, config.logCacheBytesMax),
    role: 'follower',
    term: hardState.term,
    vote: hardState.vote,
    leader: null,
    commit,
    applied,
    electionElapsed: 0,
    electionDue: firstElectionDue(config, hardState.term),
    followed: null,
    ended: new Set(),
    earlyElapsed: 0,
    heartbeatElapsed: 0,
    calmTicks: 0,
    acceptedTo: noIndex,
    votes: new Map(),
    progress: new Map(),
    leaderTermStart: recovered.lastIndex,
    uncommittedBytes: 0,
    transfer: null,
    reads: newReads(),
    lease: newLease(config, hardState.term),
    termMax: termMaxAt(0),
    fetching: new Set(),
    quorumContacts: 0,
    contactCounted: false,
    outbox: newOutbox(promise, hardState.commit, applied),
  }
}

/** An election at term 0 cannot replace a leader: an operating cluster rejects the pre-vote. */
function firstElectionDue(config: CoreConfig, term: Term): number {
  const drawn = config.electionTicks + config.random.below(config.electionTicks)
  return term === 0 ? (config.firstElectionTicks ?? drawn) : drawn
}

function newOutbox(promise: DurableVote, commitHanded: LogIndex, applied: LogIndex): Outbox {
  return {
    atOnce: [],
    oncePersisted: [],
    held: [],
    readsConfirmed: [],
    readsFailed: [],
    snapshotsToSend: [],
    fetches: [],
    replicationDue: false,
    nextTicket: 1,
    underWay: [],
    handed: promise,
    durable: promise,
    commitReported: applied,
    commitHanded,
    transitionReported: null,
    reported: nothingReported,
  }
}

/** Queues a message that may be sent at once: it does not depend on a write in progress. */
export function sendAtOnce(state: State, message: Message): void {
  state.outbox.atOnce.push(message)
}

/** Queues a message that is sent once everything decided so far is durable. */
export function sendOncePersisted(state: State, message: Message): void {
  state.outbox.oncePersisted.push(message)
}

/** Returns the configuration in force: the latest in the log, committed or not (thesis §4.1). */
export function configuration(state: State): Configuration {
  return state.log.configuration
}

export function isVoter(state: State, id: NodeId): boolean {
  return isVoterOf(configuration(state), id)
}

/** Returns all voters in force, of both halves of a joint configuration, but this member. */
export function otherVoters(state: State): readonly NodeId[] {
  const { voters, votersOutgoing } = configuration(state)
  const all = new Set([...voters, ...(votersOutgoing ?? [])])
  all.delete(state.id)
  return [...all].sort((a, b) => a - b)
}

export function isVoterOf({ voters, votersOutgoing }: Configuration, id: NodeId): boolean {
  return voters.includes(id) || (votersOutgoing !== null && votersOutgoing.includes(id))
}

/** Returns whether the last leader that this member followed has ended; see `ended-leader.ts`. */
export function followsEndedLeader({ followed, ended }: State): boolean {
  return followed !== null && ended.has(followed.leader)
}

/**
 * Returns whether an entry of this term is committed. Only then a leader knows all entries that
 * earlier leaders committed (thesis §6.4).
 */
export function committedInTerm(state: State): boolean {
  return (state.log.termAt(state.commit) ?? noTerm) === state.term
}

function newLease(config: CoreConfig, term: Term): Lease {
  const promisedNothing = term === 0 || config.leasePromiseMs === undefined
  return {
    wanted: false,
    nowMs: 0,
    endedByTransfer: false,
    silentTicks: promisedNothing ? config.electionTicks : 0,
    promisedTicks: promisedNothing ? config.electionTicks : 0,
    formerPromiseTicks: promisedNothing ? 0 : (config.formerPromiseTicks ?? 0),
  }
}

function newReads(): Reads {
  return { nextContext: 1, rounds: [], sent: null }
}

/** Returns whether a read round waits that cannot wait for the next regular heartbeat. */
export function hasUrgentReads({ reads }: State): boolean {
  return reads.rounds.some(({ withHeartbeat }) => !withHeartbeat)
}

/** Returns why this member accepts no proposals now; null when it does. */
export function rejectReason(state: State): Dropped | null {
  if (state.role !== 'leader') return state.leader === null ? 'no-leader' : 'not-leader'
  return state.transfer === null ? null : 'transferring'
}
