import { assertNever } from '../../base/assert.ts'
import type { Message } from './message.ts'
import type { Ready, Transition } from './ready.ts'
import type { Configuration, Entry, HardState, SnapshotMeta } from './types.ts'

/*
 * One line of text for each output of the core, for logs and transcripts. A position in the log is
 * written term/index. Commands may contain secrets, so only their size is shown unless the caller
 * provides `ShowData`.
 */

/** Formats the data of a command. */
export type ShowData = (data: Uint8Array) => string

export function describeMessage(message: Message, show: ShowData = sizeOf): string {
  return `${message.from}->${message.to} ${message.kind} term=${message.term}${detailsOf(message, show)}`
}

export function describeEntry(entry: Entry, show: ShowData = sizeOf): string {
  const at = `${entry.term}/${entry.index}`
  switch (entry.kind) {
    case 'command':
      return `${at} ${show(entry.data)}`
    case 'empty':
      return `${at} empty`
    case 'configuration':
      return `${at} ${describeConfiguration(entry.configuration)}`
    default:
      return assertNever(entry)
  }
}

/** Returns `voters=1,2,3 learners=4`; a joint configuration adds `outgoing=…` and more. */
export function describeConfiguration(configuration: Configuration): string {
  const { voters, votersOutgoing, learners, learnersNext, autoLeave } = configuration
  const parts = [`voters=${voters.join(',')}`]
  if (votersOutgoing !== null) parts.push(`outgoing=${votersOutgoing.join(',')}`)
  if (learners.length > 0) parts.push(`learners=${learners.join(',')}`)
  if (learnersNext.length > 0) parts.push(`learners-next=${learnersNext.join(',')}`)
  if (autoLeave) parts.push('auto-leave')
  return parts.join(' ')
}

export function describeHardState(hardState: HardState): string {
  return `term=${hardState.term} vote=${hardState.vote ?? 'none'} commit=${hardState.commit}`
}

export function describeSnapshot(snapshot: SnapshotMeta): string {
  return `at=${snapshot.term}/${snapshot.index} ${describeConfiguration(snapshot.configuration)}`
}

export function describeTransition(transition: Transition): string {
  const leader = transition.leader ?? 'none'
  const { role, term, configuration } = transition
  return `${role} term=${term} leader=${leader} ${describeConfiguration(configuration)}`
}

/** Returns one line per task, in the order of the fields of `Ready`. */
export function describeReady(ready: Ready, show: ShowData = sizeOf): readonly string[] {
  const lines = ready.messagesAtOnce.map((message) => `send ${describeMessage(message, show)}`)
  if (ready.persist !== null) {
    const { ticket, snapshot, entries, hardState, messages } = ready.persist
    const parts = [`persist #${ticket}`]
    if (snapshot !== null) parts.push(`snapshot ${describeSnapshot(snapshot)}`)
    if (hardState !== null) parts.push(describeHardState(hardState))
    parts.push(`[${describeEntries(entries, show)}]`)
    lines.push(parts.join(' '), ...messages.map((message) => `then send ${describeMessage(message, show)}`))
  }
  if (ready.commit !== null) lines.push(`commit ${ready.commit}`)
  for (const { context, index } of ready.readsConfirmed) lines.push(`read ${context} confirmed at ${index}`)
  for (const context of ready.readsFailed) lines.push(`read ${context} failed`)
  for (const to of ready.snapshotsToSend) lines.push(`send snapshot to ${to}`)
  for (const { from, bytesMax } of ready.fetches) lines.push(`fetch from ${from} up to ${bytesMax} bytes`)
  if (ready.transition !== null) lines.push(`became ${describeTransition(ready.transition)}`)
  return lines
}

function detailsOf(message: Message, show: ShowData): string {
  switch (message.kind) {
    case 'pre-vote-request':
      return ` last=${message.lastTerm}/${message.lastIndex}`
    case 'vote-request':
      return ` last=${message.lastTerm}/${message.lastIndex}${message.transfer ? ' transfer' : ''}`
    case 'pre-vote-response':
    case 'vote-response':
      return message.granted ? ' granted' : ' refused'
    case 'append-request': {
      const { previousTerm, previousIndex, commit, entries } = message
      return ` prev=${previousTerm}/${previousIndex} commit=${commit} [${describeEntries(entries, show)}]`
    }
    case 'append-accepted':
      return ` index=${message.index}`
    case 'append-refused':
      return ` index=${message.index} hint=${message.hintTerm}/${message.hintIndex}`
    case 'heartbeat': {
      const sent = message.sentMs === undefined ? '' : ` sent=${message.sentMs}ms`
      const read = message.context === null ? '' : ` read=${message.context}`
      return ` commit=${message.commit}${read}${sent}${message.quiet === true ? ' quiet' : ''}`
    }
    case 'heartbeat-response': {
      const { context, promise, quiet } = message
      const promised =
        promise === undefined ? '' : ` sent=${promise.sentMs}ms promise=${promise.promisedMs}ms`
      return `${context === null ? '' : ` read=${context}`}${promised}${quiet === true ? ' quiet' : ''}`
    }
    case 'snapshot':
      return ` ${describeSnapshot(message.snapshot)}`
    case 'timeout-now':
      return ''
    default:
      return assertNever(message)
  }
}

function describeEntries(entries: readonly Entry[], show: ShowData): string {
  return entries.map((entry) => describeEntry(entry, show)).join(', ')
}

function sizeOf(data: Uint8Array): string {
  return `${data.byteLength} bytes`
}
