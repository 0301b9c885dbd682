import { assert, assertNever } from '../../base/assert.ts'
import { Progress } from './progress.ts'
import { endCalm } from './quiet.ts'
import { isQuorum, quorumValue } from './quorum.ts'
import { configuration, sendAtOnce } from './state.ts'
import type { State } from './state.ts'
import { entryBytes, noIndex } from './types.ts'
import type { Entry, LogIndex, NodeId } from './types.ts'

/** Appends to the leader's own log. Raft paper figure 3, leader append-only. */
export function appendOwn(state: State, entries: readonly Entry[]): void {
  assert(state.role === 'leader', 'only a leader adds entries of its own')
  endCalm(state)
  for (const entry of entries) {
    assert(entry.term === state.term, 'a leader adds entries of its term')
    assert(
      entry.kind !== 'configuration' || state.log.configurationIndex <= state.commit,
      'at most one configuration is uncommitted',
    )
    state.log.append(entry)
    state.uncommittedBytes += entryBytes(entry)
    if (entry.kind === 'configuration') trackFollowers(state)
  }
  state.outbox.replicationDue = true
}

/** Updates `progress` to the configuration in force. On a leader only. */
export function trackFollowers(state: State): void {
  const { voters, votersOutgoing, learners } = configuration(state)
  const others = new Set([...voters, ...(votersOutgoing ?? []), ...learners])
  others.delete(state.id)
  for (const id of state.progress.keys()) if (!others.has(id)) state.progress.delete(id)
  const next = (state.log.lastIndex + 1) as LogIndex
  for (const id of [...others].sort((a, b) => a - b)) {
    if (!state.progress.has(id)) state.progress.set(id, new Progress(id, next, state.config))
  }
  state.outbox.replicationDue = true
}

/**
 * Commits what is durable at a quorum, if that reaches an entry of this term (Raft paper §5.4.2).
 *
 * @returns whether the commit index rose
 */
export function maybeCommit(state: State): boolean {
  if (state.role !== 'leader') return false
  // The leader's own disk counts like any other voter's, and is not waited for.
  const index = quorumValue(configuration(state), (id) => durableAt(state, id)) as LogIndex
  if (index <= state.commit || state.log.termAt(index) !== state.term) return false
  assert(
    isQuorum(configuration(state), (id) => durableAt(state, id) >= index),
    'a committed entry is durable at a quorum',
  )
  advanceCommit(state, index)
  state.outbox.replicationDue = true
  return true
}

function durableAt(state: State, id: NodeId): LogIndex {
  return id === state.id ? state.log.persisted : (state.progress.get(id)?.match ?? noIndex)
}

export function advanceCommit(state: State, index: LogIndex): void {
  assert(index > state.commit, 'the commit index never goes back')
  assert(index <= state.log.lastIndex, 'only existing entries are committed')
  if (state.role === 'leader') releaseUncommitted(state, index)
  state.commit = index
  state.log.evict(index)
}

/**
 * Sends every follower its next entries. Called once per Ready, so that appends are batched, and
 * before a leader that is no longer a voter steps down.
 */
export function replicate(state: State): void {
  state.outbox.replicationDue = false
  if (state.role !== 'leader') return
  for (const progress of state.progress.values()) {
    switch (progress.state) {
      case 'probe':
        probe(state, progress)
        break
      case 'replicate':
        stream(state, progress)
        break
      case 'snapshot':
        break
      default:
        assertNever(progress.state)
    }
  }
}

/** Handles entries that were fetched from disk. */
export function supplyEntries(state: State, entries: readonly Entry[]): void {
  const first = entries[0]
  if (first === undefined) {
    // The entries were compacted since: the waiting followers need a snapshot instead.
    state.fetching.clear()
    for (const progress of state.progress.values()) progress.fetching = null
    state.outbox.replicationDue = true
    return
  }
  state.fetching.delete(first.index)
  if (state.role !== 'leader') return
  // The entries may belong to a fetch of an earlier term, from a log that was overwritten since; or
  // the entry before them may have been compacted, so that its term is unknown.
  const previous = state.log.termAt((first.index - 1) as LogIndex)
  const current = previous !== null && entries.every((entry) => state.log.termAt(entry.index) === entry.term)
  for (const progress of state.progress.values()) {
    if (progress.fetching !== first.index) continue
    progress.fetching = null
    state.outbox.replicationDue = true
    if (!current || progress.state !== 'replicate') continue
    if (progress.next !== first.index || progress.inflights.full) continue
    sendEntries(state, progress, entries)
  }
}

function probe(state: State, progress: Progress): void {
  if (progress.probing) return
  const previous = (progress.next - 1) as LogIndex
  if (state.log.termAt(previous) === null) return startSnapshot(state, progress)
  progress.probing = true
  // The matching index is not known yet, so nothing is fetched from disk.
  const entries = state.log.inMemory(progress.next)
    ? state.log.slice(progress.next, state.config.appendBytesMax)
    : []
  sendAppend(state, progress, entries)
}

function stream(state: State, progress: Progress): void {
  const { log } = state
  let hasSent = false
  while (progress.next <= log.lastIndex && !progress.inflights.full) {
    if (log.termAt((progress.next - 1) as LogIndex) === null) return startSnapshot(state, progress)
    if (!log.inMemory(progress.next)) {
      fetch(state, progress)
      break
    }
    sendEntries(state, progress, log.slice(progress.next, state.config.appendBytesMax))
    hasSent = true
  }
  const commit = Math.min(state.commit, progress.next - 1)
  if (hasSent || (commit <= progress.sentCommit && !progress.appendDue)) return
  if (log.termAt((progress.next - 1) as LogIndex) === null) return startSnapshot(state, progress)
  sendAppend(state, progress, [])
}

function sendEntries(state: State, progress: Progress, entries: readonly Entry[]): void {
  let bytes = 0
  for (const entry of entries) bytes += entryBytes(entry)
  const last = (progress.next + entries.length - 1) as LogIndex
  sendAppend(state, progress, entries)
  progress.sent(last, bytes)
}

function sendAppend(state: State, progress: Progress, entries: readonly Entry[]): void {
  const previousIndex = (progress.next - 1) as LogIndex
  const previousTerm = state.log.termAt(previousIndex)
  assert(previousTerm !== null, 'the entry before an append is known')
  progress.appendDue = false
  progress.sentCommit = Math.min(state.commit, previousIndex + entries.length) as LogIndex
  sendAtOnce(state, {
    kind: 'append-request',
    from: state.id,
    to: progress.id,
    term: state.term,
    previousIndex,
    previousTerm,
    entries,
    commit: state.commit,
  })
}

function fetch(state: State, progress: Progress): void {
  if (progress.fetching === progress.next) return
  progress.fetching = progress.next
  if (state.fetching.has(progress.next)) return
  state.fetching.add(progress.next)
  state.outbox.fetches.push({ from: progress.next, bytesMax: state.config.appendBytesMax })
}

/**
 * Requests a snapshot for a follower whose next entries were compacted; not for a follower without
 * contact, whose next heartbeat response leads to another call.
 */
function startSnapshot(state: State, progress: Progress): void {
  if (!progress.recentlyActive) return
  progress.becomeSnapshot()
  state.outbox.snapshotsToSend.push(progress.id)
}

/**
 * Subtracts the entries up to `commit` from the bytes of uncommitted entries. Entries of earlier
 * terms were never counted.
 */
function releaseUncommitted(state: State, commit: LogIndex): void {
  let index = Math.max(state.commit + 1, state.leaderTermStart) as LogIndex
  for (; index <= commit; index = (index + 1) as LogIndex) {
    state.uncommittedBytes -= entryBytes(state.log.entryInMemory(index))
  }
  assert(state.uncommittedBytes >= 0, 'the released bytes were counted before')
}
