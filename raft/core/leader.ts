import { assert, assertNever } from '../../base/assert.ts'
import { becomeFollower } from './transitions.ts'
import { maybeLeaveJoint } from './conf-change.ts'
import { noteLeasePromise, tickLease } from './lease.ts'
import type { ProposeAnswer } from './errors.ts'
import type { Message, MessageOf } from './message.ts'
import type { Progress } from './progress.ts'
import { graceTicks, heartbeatInterval, isQuiet, tickCalm } from './quiet.ts'
import { isQuorum, quorumValue } from './quorum.ts'
import { broadcastHeartbeat, confirmReads, noteContact } from './read-index.ts'
import { appendOwn, maybeCommit, replicate } from './replication.ts'
import { configuration, isVoter, rejectReason } from './state.ts'
import type { State } from './state.ts'
import { maybeSendTimeoutNow, sendTimeoutNow, tickTransfer } from './transfer.ts'
import { entryBytes } from './types.ts'
import type { Entry, LogIndex, NodeId, Term } from './types.ts'

/** Handles a message of the current term on the leader. */
export function stepLeader(state: State, message: Message): void {
  switch (message.kind) {
    case 'append-accepted':
      return withFollower(state, message, (progress) => noteAccepted(state, progress, message))
    case 'append-refused':
      return withFollower(state, message, (progress) => noteRefused(state, progress, message))
    case 'heartbeat-response':
      return withFollower(state, message, (progress) => noteAlive(state, progress, message))
    case 'append-request':
    case 'heartbeat':
    case 'snapshot':
      // Such a message is refused on arrival.
      return assert(false, `term ${message.term} has one leader`)
    case 'pre-vote-response':
    case 'vote-response':
      return
    case 'pre-vote-request':
    case 'vote-request':
    case 'timeout-now':
      // Handled before the role is considered.
      return
    default:
      return assertNever(message)
  }
}

export function tickLeader(state: State): void {
  state.heartbeatElapsed++
  state.electionElapsed++
  tickLease(state)
  for (const progress of state.progress.values()) progress.silentTicks++
  tickTransfer(state)
  tickCalm(state)
  if (state.electionElapsed >= state.config.electionTicks) {
    state.electionElapsed = 0
    if (!checkQuorum(state)) return
  }
  if (state.heartbeatElapsed >= heartbeatInterval(state)) {
    broadcastHeartbeat(state)
    // A changed configuration may need fewer responses than when the round was sent.
    confirmReads(state)
  }
}

export function proposeCommands(
  state: State,
  datas: readonly Uint8Array[],
  expectedTerm: Term,
): ProposeAnswer {
  assert(datas.length >= 1, 'a proposal has a command')
  const reason = rejectReason(state)
  if (reason !== null) return { kind: 'dropped', reason }
  if (expectedTerm !== state.term) return { kind: 'dropped', reason: 'term-changed' }
  const first = (state.log.lastIndex + 1) as LogIndex
  const entries = datas.map((data, at): Entry => ({
    index: (first + at) as LogIndex,
    term: state.term,
    kind: 'command',
    data,
  }))
  if (!fitsUncommitted(state, entries)) return { kind: 'dropped', reason: 'too-many-uncommitted' }
  appendOwn(state, entries)
  return { kind: 'accepted', first }
}

export function noteUnreachable(state: State, peer: NodeId): void {
  const progress = state.progress.get(peer)
  if (progress?.state !== 'replicate') return
  // Pipelined appends are presumed lost.
  progress.becomeProbe((progress.match + 1) as LogIndex)
  // The response to the next heartbeat resumes replication.
  progress.probing = true
}

export function noteSnapshot(state: State, peer: NodeId, outcome: 'finished' | 'failed'): void {
  const progress = state.progress.get(peer)
  if (progress?.state === 'snapshot') progress.snapshot = outcome
}

/** Commits what is durable at a quorum, and acts on a configuration that this commits. */
export function commit(state: State): void {
  if (maybeCommit(state)) afterCommit(state)
}

function afterCommit(state: State): void {
  maybeLeaveJoint(state)
  if (isVoter(state, state.id) || state.log.configurationIndex > state.commit) return
  // This leader is not a voter of the committed configuration, so it steps down (thesis §4.2.2).
  replicate(state)
  const successor = bestFollower(state)
  if (successor !== null) sendTimeoutNow(state, successor)
  becomeFollower(state, state.term, null)
}

function withFollower(state: State, message: Message, act: (progress: Progress) => void): void {
  const progress = state.progress.get(message.from)
  // The sender is not in the configuration in force.
  if (progress === undefined) return
  progress.silentTicks = 0
  progress.confirmedQuiet = false
  progress.answeredHeartbeat = true
  noteContact(state)
  act(progress)
}

function noteAccepted(state: State, progress: Progress, message: MessageOf<'append-accepted'>): void {
  assert(message.index <= state.log.lastIndex, 'a follower accepts only what its leader has')
  const news = progress.noteMatch(message.index)
  switch (progress.state) {
    case 'probe':
      if (message.index >= progress.match) progress.becomeReplicate()
      break
    case 'replicate':
      progress.inflights.freeTo(message.index)
      break
    case 'snapshot':
      // The follower has a state, from any source, from which this log can continue.
      if (progress.match >= state.log.base.index) progress.becomeReplicate()
      break
    default:
      assertNever(progress.state)
  }
  state.outbox.replicationDue = true
  if (news) commit(state)
  if (state.role === 'leader') maybeSendTimeoutNow(state, progress)
}

function noteRefused(state: State, progress: Progress, message: MessageOf<'append-refused'>): void {
  switch (progress.state) {
    case 'snapshot':
      return
    case 'replicate':
      // An old response: the follower has acknowledged that entry since.
      if (message.index <= progress.match) return
      break
    case 'probe':
      if (message.index !== progress.next - 1) return
      break
    default:
      return assertNever(progress.state)
  }
  progress.becomeProbe(firstToTry(state, message))
  state.outbox.replicationDue = true
}

/**
 * Returns the index after the last entry where the logs may agree, given the follower's hint: its
 * entries up to `hintIndex` have terms up to `hintTerm`, so entries of this log beyond that term
 * differ from all of them.
 */
function firstToTry(state: State, message: MessageOf<'append-refused'>): LogIndex {
  const ours = state.log.lastAtMost(message.hintIndex, message.hintTerm)
  const agreed = Math.min(ours?.index ?? message.hintIndex, message.index - 1)
  // If this log was compacted there, the follower's hint leads below the base and so to a snapshot.
  return (ours === null ? Math.min(agreed + 1, state.log.base.index) : agreed + 1) as LogIndex
}

function noteAlive(state: State, progress: Progress, message: MessageOf<'heartbeat-response'>): void {
  if (message.promise !== undefined) noteLeasePromise(progress, message.promise)
  // A late response may come when this leader is not quiet any more.
  if (message.quiet === true && isQuiet(state)) {
    progress.silentTicks = -graceTicks(state.config)
    progress.confirmedQuiet = true
  }
  if (message.context !== null && message.context > (progress.readConfirmed ?? 0)) {
    progress.readConfirmed = message.context
    confirmReads(state)
  }
  if (progress.state === 'snapshot' && progress.snapshot !== 'sending') {
    const { base } = state.log
    progress.becomeProbe((progress.snapshot === 'finished' ? base.index + 1 : progress.match + 1) as LogIndex)
  }
  progress.probing = false
  // Either the follower lags, or an acknowledgement was lost: the response to an append shows
  // which.
  progress.appendDue = progress.match < state.log.lastIndex
  if (progress.appendDue || progress.state === 'probe') state.outbox.replicationDue = true
  // The timeout-now message may have been lost.
  maybeSendTimeoutNow(state, progress)
}

/** Steps down without contact to a quorum (CheckQuorum). Raft paper §6, thesis §6.2. */
function checkQuorum(state: State): boolean {
  const active = isQuorum(
    configuration(state),
    (id) => id === state.id || state.progress.get(id)?.recentlyActive === true,
  )
  if (!active) becomeFollower(state, state.term, null)
  return active
}

/** Returns the ticks without a response after which CheckQuorum may fail. */
export function ticksUntilQuorumLost(state: State): number {
  return quorumValue(configuration(state), (id) =>
    id === state.id ? Infinity : (state.progress.get(id)?.ticksUntilInactive ?? 0),
  )
}

/**
 * Returns whether the proposal fits. One proposal of any size is accepted when no entry of this
 * term is uncommitted; otherwise the bytes of all uncommitted entries of this term are limited. The
 * part of the log that is in memory is always limited.
 */
function fitsUncommitted(state: State, entries: readonly Entry[]): boolean {
  let bytes = 0
  for (const entry of entries) bytes += entryBytes(entry)
  const max = state.config.uncommittedBytesMax
  if (state.uncommittedBytes > 0 && state.uncommittedBytes + bytes > max) return false
  // A quorum of others may commit while this member's disk is stalled; memory must stay bounded.
  return state.log.bytesInMemory <= max + state.config.logCacheBytesMax
}

function bestFollower(state: State): Progress | null {
  let best: Progress | null = null
  for (const progress of state.progress.values()) {
    if (!isVoter(state, progress.id) || !progress.recentlyActive) continue
    if (best === null || progress.match > best.match) best = progress
  }
  return best
}
