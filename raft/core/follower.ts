import { assert, assertNever, present } from '../../base/assert.ts'
import { becomeFollower } from './transitions.ts'
import { promiseFor } from './lease.ts'
import { acceptQuiet } from './quiet.ts'
import type { Message, MessageOf } from './message.ts'
import { advanceCommit } from './replication.ts'
import { sendAtOnce, sendOncePersisted } from './state.ts'
import type { State } from './state.ts'
import type { Entry, LogIndex } from './types.ts'

type LeaderMessage = MessageOf<'append-request' | 'heartbeat' | 'snapshot'>

/** Handles a message of the current term on a follower. */
export function stepFollower(state: State, message: Message): void {
  switch (message.kind) {
    case 'append-request':
    case 'heartbeat':
    case 'snapshot':
      if (state.leader !== message.from) becomeFollower(state, message.term, message.from)
      return acceptLeader(state, message)
    case 'append-accepted':
    case 'append-refused':
    case 'heartbeat-response':
    case 'pre-vote-response':
    case 'vote-response':
      // Responses to a role that this member no longer has.
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

/** Handles a message of the leader of this term. */
export function acceptLeader(state: State, message: LeaderMessage): void {
  assert(state.leader === message.from, 'the sender is the leader')
  state.electionElapsed = 0
  state.lease.silentTicks = 0
  state.followed = { leader: message.from, term: message.term }
  // The leader lives, or this message was under way when it ended: then the usual timeouts count.
  state.ended.delete(message.from)
  state.quorumContacts++
  switch (message.kind) {
    case 'append-request':
      return takeAppend(state, message)
    case 'heartbeat':
      return takeHeartbeat(state, message)
    case 'snapshot':
      return takeSnapshot(state, message)
    default:
      return assertNever(message)
  }
}

function takeAppend(state: State, message: MessageOf<'append-request'>): void {
  if (message.previousIndex < state.commit) {
    // The message is old, or probes below the commit index: the committed entries agree anyway.
    return accept(state, state.commit)
  }
  if (state.log.termAt(message.previousIndex) !== message.previousTerm) return refuse(state, message)
  appendMissing(state, message.entries)
  const last = (message.previousIndex + message.entries.length) as LogIndex
  // Only the entries up to the end of this message are known to agree with the leader's log.
  const commit = Math.min(message.commit, last) as LogIndex
  const commits = commit > state.commit
  if (commits) advanceCommit(state, commit)
  // An append that only raised the commit index needs no response: the entries up to its end were
  // acknowledged before. If that response was lost, an empty append after the next heartbeat
  // requests it again.
  if (commits && message.entries.length === 0 && last <= state.acceptedTo) return
  accept(state, last)
}

/**
 * Appends the entries that are not there yet: an old message must not truncate what a later one
 * brought. Raft paper §5.3.
 */
function appendMissing(state: State, entries: readonly Entry[]): void {
  for (const entry of entries) {
    const present = state.log.termAt(entry.index)
    if (present === entry.term) continue
    if (present !== null) {
      assert(entry.index > state.commit, 'a committed entry is never overwritten')
      state.log.truncateFrom(entry.index)
    }
    state.log.append(entry)
  }
  const last = entries.at(-1)
  assert(last === undefined || state.log.termAt(last.index) === last.term, 'the log agrees with the append')
}

function accept(state: State, index: LogIndex): void {
  if (index > state.acceptedTo) state.acceptedTo = index
  sendOncePersisted(state, {
    kind: 'append-accepted',
    from: state.id,
    to: present(state.leader, 'the leader is known'),
    term: state.term,
    index,
  })
}

/**
 * Reports where the logs may still agree: the last entry of this log whose term is not later than
 * the one that the leader sent. One refusal per conflicting term, not per entry. Raft paper §5.3.
 */
function refuse(state: State, message: MessageOf<'append-request'>): void {
  const { lastIndex } = state.log
  const from = Math.min(message.previousIndex, lastIndex) as LogIndex
  const hint = present(
    state.log.lastAtMost(from, message.previousTerm),
    'compacted entries were committed, so the leader has them too',
  )
  sendAtOnce(state, {
    kind: 'append-refused',
    from: state.id,
    to: message.from,
    term: state.term,
    index: message.previousIndex,
    hintIndex: hint.index,
    hintTerm: hint.term,
  })
}

function takeHeartbeat(state: State, message: MessageOf<'heartbeat'>): void {
  if (message.commit > state.commit) advanceCommit(state, message.commit)
  const { context } = message
  const promise = promiseFor(state, message.sentMs)
  const [kind, from, to, term] = ['heartbeat-response', state.id, message.from, state.term] as const
  const answer = { kind, from, to, term, context }
  // A promise is made only to a leader that wants a lease, and such a leader is not quiet.
  if (promise !== undefined) {
    state.lease.promisedTicks = 0
    return sendAtOnce(state, { promise, ...answer })
  }
  const waitsLonger = message.quiet === true && acceptQuiet(state)
  sendAtOnce(state, waitsLonger ? { quiet: true, ...answer } : answer)
}

function takeSnapshot(state: State, message: MessageOf<'snapshot'>): void {
  const { snapshot } = message
  if (snapshot.index <= state.commit) return accept(state, state.commit)
  if (state.log.termAt(snapshot.index) === snapshot.term) {
    // The log contains all of the snapshot; later entries are kept.
    advanceCommit(state, snapshot.index)
    return accept(state, snapshot.index)
  }
  state.log.restore(snapshot, state.commit)
  advanceCommit(state, snapshot.index)
  accept(state, snapshot.index)
}
