import { assert } from '../../base/assert.ts'
import type { Message } from './message.ts'
import type { ReportedState } from './reported-state.ts'
import { configuration } from './state.ts'
import type { State } from './state.ts'
import { noTerm } from './types.ts'
import type { LogIndex } from './types.ts'

/*
 * The properties of figure 3 of the Raft paper that one member can check by itself. They are
 * checked at every Ready, in production too: a few comparisons per follower and per message.
 * Properties of a single operation (an append, a truncation, a vote) are asserted in that
 * operation.
 */

/** @param leaving messages that may be sent at once */
export function checkInvariants(state: State, leaving: readonly Message[]): void {
  checkOrder(state)
  checkMonotonic(state, state.outbox.reported)
  if (state.role === 'leader') checkLeader(state)
  for (const message of leaving) checkPromise(state, message)
  state.outbox.reported = reportedState(state)
}

function checkOrder(state: State): void {
  const { log } = state
  assert(state.applied <= state.commit, 'applied <= commit')
  assert(state.commit <= log.lastIndex, 'commit <= last')
  assert(log.base.index <= state.commit, 'only committed entries are compacted')
  assert(log.persisted <= log.lastIndex, 'persisted <= last')
  assert(log.lastTerm <= state.term, 'no entry is of a later term')
}

function checkMonotonic(state: State, past: ReportedState): void {
  const { log } = state
  assert(state.term >= past.term, 'terms never go back')
  assert(state.applied >= past.applied, 'the applied index never goes back')
  assert(state.commit >= past.commit, 'the commit index never goes back')
  // The term is null if that entry was compacted, or lies below a snapshot.
  assert((log.termAt(past.commit) ?? past.commitTerm) === past.commitTerm, 'committed entries never change')
  if (state.term > past.term) return
  assert(past.vote === null || state.vote === past.vote, 'one vote in a term')
  if (past.role !== 'leader' || state.role !== 'leader') return
  assert(log.lastIndex >= past.lastIndex, 'a leader only appends to its log')
  assert((log.termAt(past.lastIndex) ?? past.lastTerm) === past.lastTerm, 'a leader overwrites nothing')
}

function checkLeader(state: State): void {
  const { log, progress } = state
  assert(state.leader === state.id, 'a leader knows itself')
  assert(ownVoteIsDurable(state), "a leader's own vote is durable")
  const { members } = configuration(state)
  let others = 0
  for (const { id } of members) {
    if (id === state.id) continue
    others++
    assert(progress.has(id), 'a leader tracks every member of the configuration in force')
  }
  assert(progress.size === others, 'a leader tracks no other member')
  for (const follower of progress.values()) {
    assert(follower.match < follower.next, 'match < next')
    assert(follower.next <= ((log.lastIndex + 1) as LogIndex), 'nothing beyond the log is sent')
  }
}

/** Messages that depend on the disk are sent only once the disk holds what they report. */
function checkPromise(state: State, message: Message): void {
  const { log, outbox } = state
  // The state of an earlier term is not known any more; peers ignore a message of that term.
  if (message.term !== state.term) return
  switch (message.kind) {
    case 'vote-request':
      return assert(
        ownVoteIsDurable(state),
        "votes are requested only after the candidate's own vote is durable",
      )
    case 'vote-response':
      if (!message.granted) return
      return assert(
        outbox.durable.term === message.term && outbox.durable.vote === message.to,
        'a granted vote is durable before it is sent',
      )
    case 'append-accepted':
      // While a snapshot replaces the log, entries below it may still be in the old log on disk.
      return assert(message.index <= log.persisted || log.restoring, 'an accepted entry is durable')
    default:
      return
  }
}

function ownVoteIsDurable(state: State): boolean {
  const { durable } = state.outbox
  return durable.term === state.term && durable.vote === state.id
}

function reportedState(state: State): ReportedState {
  const { role, term, vote, applied, commit, log } = state
  const { lastIndex, lastTerm } = log
  return { role, term, vote, applied, commit, commitTerm: log.termAt(commit) ?? noTerm, lastIndex, lastTerm }
}
