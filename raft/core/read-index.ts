import type { MessageOf, ReadContext } from './message.ts'
import type { ReadAnswer } from './errors.ts'
import { leaseStart } from './lease.ts'
import { isQuiet } from './quiet.ts'
import { isQuorum, quorumValue } from './quorum.ts'
import { committedInTerm, configuration, sendAtOnce } from './state.ts'
import type { State } from './state.ts'
import type { LogIndex } from './types.ts'

/*
 * Reads that wait for proof that this member was still the leader when they arrived (thesis §6.4).
 *
 * `readIndex` opens a round, which a number identifies: its context. At the next Ready after the
 * leader has committed an entry of its term, the round gets the commit index and is sent with a
 * heartbeat. A round that may wait is sent with the next heartbeat that is due anyway. A follower
 * that acknowledges context n has accepted the leader after every round up to n was opened, so it
 * confirms all of them. A process uses no context twice, and no member leads one term twice, so a
 * late response confirms no later round.
 */

/**
 * Opens a round. A round that waits for a heartbeat serves every caller until it is sent, and gets
 * the commit index of that time.
 *
 * @param withHeartbeat the round may wait for the next heartbeat
 */
export function openRead(state: State, withHeartbeat: boolean): ReadAnswer {
  if (state.role !== 'leader') {
    return { kind: 'dropped', reason: state.leader === null ? 'no-leader' : 'not-leader' }
  }
  const { reads } = state
  const latest = reads.rounds.at(-1)
  const waits = withHeartbeat && !isOwnQuorum(state)
  if (latest?.index === null && (waits || latest.withHeartbeat)) {
    latest.withHeartbeat &&= waits
    return { kind: 'accepted', context: latest.context }
  }
  if (reads.rounds.length >= state.config.readRoundsMax) return { kind: 'dropped', reason: 'too-many-reads' }
  const context = reads.nextContext++ as ReadContext
  reads.rounds.push({ context, index: null, withHeartbeat: waits })
  return { kind: 'accepted', context }
}

/** Returns whether `sendReadRounds` would send a round. */
export function hasUnsentReads(state: State): boolean {
  const latest = state.reads.rounds.at(-1)
  return latest?.index === null && !latest.withHeartbeat && state.role === 'leader' && committedInTerm(state)
}

/**
 * Sends one heartbeat to each follower for all rounds that were not sent yet. A leader that votes
 * alone confirms them at once.
 */
export function sendReadRounds(state: State): void {
  if (!hasUnsentReads(state)) return
  if (isOwnQuorum(state)) {
    setIndexes(state)
    confirmReads(state)
  } else broadcastHeartbeat(state)
}

/** Sets the index of every round that was not sent yet: the round is sent now. */
function setIndexes(state: State): void {
  const { reads } = state
  for (const round of reads.rounds) {
    if (round.index !== null) continue
    round.index = state.commit
    reads.sent = round.context
  }
}

/** Whether this leader confirms reads without a heartbeat, by the configuration in force. */
function isOwnQuorum(state: State): boolean {
  return isQuorum(configuration(state), (id) => id === state.id)
}

/** Confirms every round that a quorum has acknowledged, directly or by a later round. */
export function confirmReads(state: State): void {
  const { rounds, sent } = state.reads
  if (sent === null || rounds.length === 0) return
  const confirmed = quorumValue(configuration(state), (id) =>
    id === state.id ? sent : (state.progress.get(id)?.readConfirmed ?? 0),
  )
  let done = 0
  for (const { context, index } of rounds) {
    if (context > confirmed || index === null) break
    state.outbox.readsConfirmed.push({ context, index })
    done++
  }
  rounds.splice(0, done)
}

/** Fails all waiting rounds after a loss of leadership. */
export function abandonReads(state: State): void {
  for (const { context } of state.reads.rounds) state.outbox.readsFailed.push(context)
  state.reads.rounds.length = 0
  state.reads.sent = null
}

/**
 * Sends a heartbeat to every follower, with the commit index as far as the follower's log is known
 * to match, and with the latest waiting round. Rounds that were not sent yet are sent with it.
 */
export function broadcastHeartbeat(state: State): void {
  if (state.reads.rounds.at(-1)?.index === null && committedInTerm(state)) setIndexes(state)
  state.contactCounted = false
  state.heartbeatElapsed = 0
  const context = state.reads.rounds.length > 0 ? state.reads.sent : null
  const sentMs = leaseStart(state)
  const quiet = isQuiet(state)
  for (const progress of state.progress.values()) {
    progress.answeredHeartbeat = false
    const commit = Math.min(progress.match, state.commit) as LogIndex
    const [kind, from, to, term] = ['heartbeat', state.id, progress.id, state.term] as const
    const message: MessageOf<'heartbeat'> = { kind, from, to, term, commit, context }
    if (sentMs !== undefined) sendAtOnce(state, { sentMs, ...message })
    else sendAtOnce(state, quiet ? { quiet, ...message } : message)
  }
  noteContact(state)
}

/** Counts a contact with a quorum, once per heartbeat. */
export function noteContact(state: State): void {
  if (state.contactCounted) return
  const answered = isQuorum(
    configuration(state),
    (id) => id === state.id || state.progress.get(id)?.answeredHeartbeat === true,
  )
  if (!answered) return
  state.contactCounted = true
  state.quorumContacts++
}
