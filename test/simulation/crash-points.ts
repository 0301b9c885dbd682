import { logIndex } from '../../raft/core/types.ts'
import type { ApiToLog, LogToApi, LogToRaft, RaftToLog } from '../../raft/log/log-protocol.ts'
import type { ApiToRaft, RaftToApi } from '../../raft/protocol/thread-messages.ts'
import type { DiskOperation } from './disk.ts'

/*
 * The steps before or after which a process may crash. A message is a step from its post until it
 * is handled; each disk operation of a thread is a separate step.
 */

export const crashSteps = [
  ...(['append', 'vote', 'configuration', 'append-durable', 'fetch', 'catch-up-read'] as const),
  ...(['cluster-record', 'cluster-recorded'] as const),
  ...(['commit', 'applied', 'persisted', 'compact', 'compacted'] as const),
  ...([
    'snapshot-produce',
    'snapshot-send',
    'snapshot-stage',
    'snapshot-chunk',
    'snapshot-complete',
  ] as const),
  ...(['snapshot-taken', 'snapshot-record', 'snapshot-install', 'snapshot-installed'] as const),
  ...(['log-write', 'log-sync', 'log-rename', 'log-remove', 'log-truncate', 'log-sync-directory'] as const),
  ...(['database-open', 'database-write', 'database-destroy'] as const),
] as const

export type CrashStep = (typeof crashSteps)[number]

export type Side = 'before' | 'after'

/** Messages of the raft thread to the log. One write may be several steps. */
export function stepsToLog(message: RaftToLog): readonly CrashStep[] {
  switch (message.kind) {
    case 'write': {
      const { snapshot, entries, hardState } = message
      const steps: CrashStep[] = []
      const begins = snapshot !== null && snapshot.index === logIndex(0)
      if (begins || entries.some(({ kind }) => kind === 'configuration')) steps.push('configuration')
      if (snapshot !== null && !begins) steps.push('snapshot-record')
      if (entries.length > 0) steps.push('append')
      if (hardState !== null && hardState.vote !== null) steps.push('vote')
      return steps
    }
    case 'fetch':
      return ['fetch']
    case 'compact':
      return ['compact']
    case 'repair':
    case 'trim':
    case 'stop':
      return []
  }
}

export function stepsFromLog(message: LogToRaft): readonly CrashStep[] {
  if (message.kind === 'persisted') return ['append-durable']
  return message.kind === 'compacted' ? ['compacted'] : []
}

export function stepsOfReads(message: ApiToLog | LogToApi): readonly CrashStep[] {
  return message.kind === 'read-done' ? ['catch-up-read'] : []
}

export function stepsToApi(message: RaftToApi): readonly CrashStep[] {
  switch (message.kind) {
    case 'committed':
      return ['commit']
    case 'cluster-record':
      return ['cluster-record']
    case 'source-open':
      return ['snapshot-produce']
    case 'sink-open':
      return ['snapshot-stage']
    case 'sink-chunk':
      return ['snapshot-chunk']
    case 'sink-finish':
      return ['snapshot-complete']
    case 'install':
      return ['snapshot-install']
    default:
      return []
  }
}

export function stepsFromApi(message: ApiToRaft): readonly CrashStep[] {
  switch (message.kind) {
    case 'applied':
      return ['applied']
    case 'applied-disk':
      return ['persisted']
    case 'cluster-recorded':
      return ['cluster-recorded']
    case 'source-chunk':
      return ['snapshot-send']
    case 'sink-taken':
      return ['snapshot-taken']
    case 'installed':
      return ['snapshot-installed']
    default:
      return []
  }
}

/** Operations of the log thread on its disk. */
export const stepsOfDisk: Readonly<Partial<Record<DiskOperation, readonly CrashStep[]>>> = {
  write: ['log-write'],
  sync: ['log-sync'],
  rename: ['log-rename'],
  remove: ['log-remove'],
  truncate: ['log-truncate'],
  'sync-directory': ['log-sync-directory'],
}

/** A power failure, or a crash of the process only. */
export type CrashKind = 'power' | 'process'

export type CrashPoint = {
  readonly step: CrashStep
  readonly side: Side
  /** Number of these steps to skip first. */
  readonly skip: number
  readonly end: CrashKind
}

/** The armed crash points of a process; each waits until it is reached, and is used once. */
export class CrashPoints {
  #armed: { readonly point: CrashPoint; left: number }[] = []

  arm(point: CrashPoint): void {
    this.#armed.push({ point, left: point.skip })
  }

  disarm(): void {
    this.#armed = []
  }

  /** @returns the crash point that was reached, when the process crashes here */
  reached(steps: readonly CrashStep[], side: Side): CrashPoint | null {
    if (this.#armed.length === 0) return null
    for (const [at, armed] of this.#armed.entries()) {
      const { point } = armed
      if (point.side !== side || !steps.includes(point.step) || armed.left-- > 0) continue
      this.#armed.splice(at, 1)
      return point
    }
    return null
  }
}
