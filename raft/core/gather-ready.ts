import { assert } from '../../base/assert.ts'
import { noteOwnVoteDurable } from './election.ts'
import { heldMessagesMax } from './config.ts'
import { checkInvariants } from './invariants.ts'
import { hasUnsentReads, sendReadRounds } from './read-index.ts'
import type { Message } from './message.ts'
import type { PersistTicket, Ready, Transition } from './ready.ts'
import { commit } from './leader.ts'
import { replicate } from './replication.ts'
import { configuration } from './state.ts'
import type { Outbox, State } from './state.ts'
import { presentTransition } from './status.ts'
import type { HardState } from './types.ts'

/** Returns whether the driver may have work to do. */
export function isReady(state: State): boolean {
  const { outbox } = state
  return (
    outbox.replicationDue ||
    outbox.atOnce.length > 0 ||
    outbox.oncePersisted.length > 0 ||
    state.log.hasUpdate ||
    voteChanged(state) ||
    outbox.commitReported < state.commit ||
    outbox.readsConfirmed.length > 0 ||
    outbox.readsFailed.length > 0 ||
    outbox.snapshotsToSend.length > 0 ||
    outbox.fetches.length > 0 ||
    hasUnsentReads(state) ||
    transitionChanged(state)
  )
}

/** Returns the work for the driver, and records that it was handed out. */
export function gatherReady(state: State): Ready {
  const { outbox } = state
  sendReadRounds(state)
  replicate(state)
  const persist = gatherPersist(state)
  const ready: Ready = {
    messagesAtOnce: outbox.atOnce,
    persist,
    commit: outbox.commitReported < state.commit ? state.commit : null,
    readsConfirmed: outbox.readsConfirmed,
    readsFailed: outbox.readsFailed,
    snapshotsToSend: outbox.snapshotsToSend,
    fetches: outbox.fetches,
    transition: transitionChanged(state) ? presentTransition(state) : null,
  }
  outbox.atOnce = []
  outbox.readsConfirmed = []
  outbox.readsFailed = []
  outbox.snapshotsToSend = []
  outbox.fetches = []
  outbox.commitReported = state.commit
  if (ready.transition !== null) outbox.transitionReported = ready.transition
  checkInvariants(state, ready.messagesAtOnce)
  return ready
}

/** Records that writes up to and including `ticket` are durable. */
export function notePersisted(state: State, ticket: PersistTicket): void {
  const { outbox } = state
  assert(ticket < outbox.nextTicket, 'only writes that were handed out become durable')
  let done = 0
  for (const write of outbox.underWay) {
    if (write.ticket > ticket) break
    outbox.durable = { term: write.term, vote: write.vote }
    done++
  }
  outbox.underWay.splice(0, done)
  state.log.notePersisted(ticket)
  releaseHeld(state, ticket)
  if (outbox.durable.term === state.term && outbox.durable.vote === state.id) noteOwnVoteDurable(state)
  state.log.evict(state.commit)
  commit(state)
}

/**
 * Collects everything new in one write. Messages that depend on the disk wait for it, or for the
 * earlier write that they depend on.
 */
function gatherPersist(state: State): Ready['persist'] {
  const { outbox } = state
  const messages = outbox.oncePersisted
  outbox.oncePersisted = []
  const promised = voteChanged(state)
  if (!promised && !state.log.hasUpdate) {
    const last = outbox.underWay.at(-1)
    if (last === undefined) outbox.atOnce.push(...messages)
    else hold(outbox, last.ticket, messages)
    return null
  }
  const ticket = outbox.nextTicket++
  const { term, vote } = state
  outbox.handed = { term, vote }
  outbox.underWay.push({ ticket, term, vote })
  // The commit index alone is not worth a write; it is added to a write that is needed.
  const hardState: HardState | null =
    promised || outbox.commitHanded < state.commit ? { term, vote, commit: state.commit } : null
  if (hardState !== null) outbox.commitHanded = hardState.commit
  return { ticket, ...state.log.takeUpdate(ticket), hardState, messages }
}

/** Adds messages that wait for an earlier write. Above `heldMessagesMax` the oldest are dropped. */
function hold({ held }: Outbox, ticket: PersistTicket, messages: readonly Message[]): void {
  for (const message of messages) held.push({ ticket, message })
  held.splice(0, Math.max(0, held.length - heldMessagesMax))
}

function releaseHeld(state: State, ticket: PersistTicket): void {
  const { outbox } = state
  let done = 0
  for (const held of outbox.held) {
    if (held.ticket > ticket) break
    outbox.atOnce.push(held.message)
    done++
  }
  outbox.held.splice(0, done)
}

function voteChanged(state: State): boolean {
  const { handed } = state.outbox
  return handed.term !== state.term || handed.vote !== state.vote
}

function transitionChanged(state: State): boolean {
  const reported: Transition | null = state.outbox.transitionReported
  return (
    reported === null ||
    reported.role !== state.role ||
    reported.term !== state.term ||
    reported.leader !== state.leader ||
    reported.configuration !== configuration(state)
  )
}
