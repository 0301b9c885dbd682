import { assertNever } from '../../base/assert.ts'
import { configurationFault } from './configuration-fault.ts'
import type { Message, MessageOf } from './message.ts'
import type { State } from './state.ts'
import type { Configuration, Entry, LogIndex, SnapshotMeta, Term } from './types.ts'

/*
 * Messages of peers are input: they may be wrong, whatever certificate the peer has. This is the
 * one place where a received message is checked against the state of this member. An impossible
 * message is refused here, before it changes anything; so the assertions that follow are about this
 * program alone, and no peer can end this process.
 *
 * It finds contradictions, not false statements: a voter that votes twice, or acknowledges entries
 * that it did not write, cannot be distinguished from a correct one (Raft tolerates crashed
 * members, not malicious ones). `docs/peer-trust.md` describes the consequences.
 */

/** Maximum index in a message. No log reaches it. */
const indexMax = 2 ** 52
/** Maximum length of a lease promise in ms, far above any configurable election timeout. */
const leasePromiseMsMax = 3_600_000

/** Returns why `message` is impossible, in one line; null when it is possible. Changes nothing. */
export function violationOf(state: State, message: Message): string | null {
  // A message of an earlier term has no effect but a reply to its sender.
  if (message.term < state.term) return null
  return absurdTerm(state, message) ?? contradiction(state, message)
}

function absurdTerm(state: State, { term }: Message): string | null {
  return term <= Math.max(state.term, state.termMax)
    ? null
    : `term ${term} is absurd because the current term is ${state.term} and at most ${state.termMax} is possible by now`
}

function contradiction(state: State, message: Message): string | null {
  switch (message.kind) {
    case 'append-request':
      return otherLeader(state, message) ?? wrongAppend(state, message)
    case 'heartbeat':
      return otherLeader(state, message) ?? wrongHeartbeat(state, message)
    case 'snapshot':
      return otherLeader(state, message) ?? wrongSnapshot(state, message)
    case 'timeout-now':
      return otherLeader(state, message)
    case 'append-accepted':
      return leads(state, message) ? beyondLog(state, 'accepts', message.index) : null
    case 'append-refused':
      return leads(state, message) ? wrongRefusal(state, message) : null
    case 'heartbeat-response':
      return leads(state, message) ? wrongAnswer(state, message) : null
    case 'pre-vote-request':
    case 'vote-request':
      return wrongCandidate(message)
    case 'pre-vote-response':
    case 'vote-response':
      return null
    default:
      return assertNever(message)
  }
}

/** Returns whether the message responds to what this leader sent in this term. */
function leads(state: State, message: Message): boolean {
  return state.role === 'leader' && message.term === state.term
}

/** Election safety, Raft paper figure 3: a term has one leader. */
function otherLeader(state: State, { from, term, kind }: Message): string | null {
  if (term > state.term || state.leader === null || state.leader === from) return null
  const leader = state.leader === state.id ? 'this member leads it' : `member ${state.leader} leads it`
  return `${kind} claims to lead term ${term}, but ${leader}`
}

function wrongAppend(state: State, message: MessageOf<'append-request'>): string | null {
  const { previousIndex, previousTerm, entries, commit } = message
  let [index, term]: [number, Term] = [previousIndex, previousTerm]
  const wrongPlace = againstCommitted(state, previousIndex, previousTerm)
  if (wrongPlace !== null) return wrongPlace
  for (const entry of entries) {
    if (entry.index !== index + 1) return `entry ${entry.index} follows entry ${index}`
    if (entry.term < term)
      return `entry ${entry.index} is of term ${entry.term}, the entry before it of ${term}`
    ;({ index, term } = entry)
    const wrong = againstCommitted(state, entry.index, entry.term) ?? wrongEntry(entry)
    if (wrong !== null) return wrong
  }
  if (term > message.term) return `entry ${index} is of term ${term}, later than its sender's term`
  return commit > indexMax ? `commit index ${commit} is absurd` : null
}

function wrongEntry(entry: Entry): string | null {
  return entry.kind === 'configuration' ? wrongConfiguration(entry.index, entry.configuration) : null
}

function wrongConfiguration(index: LogIndex, configuration: Configuration): string | null {
  const broken = brokenRule(index, configuration)
  if (broken !== null) return broken
  return configuration.voters.length > 0 ? null : `the configuration at ${index} has no voter`
}

function brokenRule(index: LogIndex, configuration: Configuration): string | null {
  const rule = configurationFault(configuration)
  return rule === null ? null : `the configuration at ${index} breaks the rule "${rule}"`
}

/**
 * Returns why the entry contradicts a committed one; null when it does not. Leader completeness,
 * Raft paper figure 3: a leader has every committed entry, and terms never decrease along its log.
 */
function againstCommitted(state: State, index: LogIndex, term: Term): string | null {
  const { log, commit } = state
  if (index > commit) {
    const last = log.termAt(commit)
    if (last === null || term >= last) return null
    return `entry ${index} is of term ${term}, but entry ${commit}, which is committed, is of term ${last}`
  }
  const known = log.termAt(index)
  if (known === null || known === term) return null
  return `entry ${index} is of term ${term}, but it is committed here and of term ${known}`
}

/**
 * A leader sends a commit index no higher than the last entry that it knows to be durable here. If
 * this log ends before that index, either the leader is wrong, or this log has lost its end, for
 * example because its directory was replaced by an old copy. One message does not show which.
 */
function wrongHeartbeat({ log }: State, { commit }: MessageOf<'heartbeat'>): string | null {
  if (commit <= log.lastIndex) return null
  return (
    `as leader it counts on entry ${commit} here, but the log of this member ends at ${log.lastIndex}: if other leaders expect it too, ` +
    'this member lost acknowledged entries (an old copy of its data directory?) and must be replaced by a new member'
  )
}

function wrongSnapshot(state: State, { snapshot, term }: MessageOf<'snapshot'>): string | null {
  return (
    wrongBase(snapshot, term) ??
    againstCommitted(state, snapshot.index, snapshot.term) ??
    brokenRule(snapshot.index, snapshot.configuration)
  )
}

function wrongBase(snapshot: SnapshotMeta, term: Term): string | null {
  if (snapshot.index === 0 || snapshot.index > indexMax) return `a state at ${snapshot.index} is absurd`
  return snapshot.term <= term ? null : `a state of term ${snapshot.term} is later than its sender's term`
}

function beyondLog({ log }: State, verb: string, index: LogIndex): string | null {
  return index <= log.lastIndex
    ? null
    : `it ${verb} entry ${index}, but the leader's log ends at ${log.lastIndex}`
}

function wrongRefusal(
  state: State,
  { index, hintIndex, hintTerm, term }: MessageOf<'append-refused'>,
): string | null {
  const beyond = beyondLog(state, 'refuses', index)
  if (beyond !== null) return beyond
  if (hintIndex > index) return `its hint ${hintIndex} is higher than the refused index ${index}`
  return hintTerm <= term ? null : `the term ${hintTerm} of its hint is later than the current term ${term}`
}

function wrongAnswer(
  { reads, lease }: State,
  { context, promise }: MessageOf<'heartbeat-response'>,
): string | null {
  if (context !== null && context >= reads.nextContext)
    return `it confirms read ${context}, which was never requested`
  if (promise === undefined) return null
  if (promise.sentMs > lease.nowMs) return 'its promise responds to a heartbeat that was not sent yet'
  return promise.promisedMs <= leasePromiseMsMax
    ? null
    : `it promises ${promise.promisedMs} ms, which is absurd`
}

function wrongCandidate({
  lastIndex,
  lastTerm,
  term,
}: MessageOf<'pre-vote-request' | 'vote-request'>): string | null {
  if (lastTerm > term) return `it campaigns in term ${term} with a log of term ${lastTerm}`
  return lastIndex <= indexMax ? null : `a log that ends at ${lastIndex} is absurd`
}
