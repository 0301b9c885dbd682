import { assertNever, present } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import { logIndex } from '../core/types.ts'
import type { Entry, LogIndex, SnapshotMeta } from '../core/types.ts'
import type { Channel, LogStore } from '../ports.ts'
import { LogError } from './errors.ts'
import { defaultLogLimits } from './limits.ts'
import type { LogLimits } from './limits.ts'
import { LogScrub } from './log-scrub.ts'
import type { LogScrubOptions } from './log-scrub.ts'
import type {
  ApiToLog,
  LogFailed,
  LogSize,
  LogToApi,
  LogToRaft,
  RaftToLog,
  ReadRefusal,
} from './log-protocol.ts'
import type { LogRepair, RepairableLog } from './repairable-log.ts'

/** An index above every other one, to read to the end. */
const endless = logIndex(Number.MAX_SAFE_INTEGER)

type Write = Extract<RaftToLog, { kind: 'write' }>

/** A damaged log, and the function that repairs and opens it. */
export type DamagedLog = {
  readonly log: RepairableLog
  /** @throws LogError when the repair is not sufficient */
  readonly repaired: (repair: LogRepair) => LogStore
}

export type LogActorOptions = {
  readonly store: LogStore | DamagedLog
  readonly raft: Channel<LogToRaft, RaftToLog>
  /** The reader of committed entries; null without one. */
  readonly api: Channel<LogToApi, ApiToLog> | null
  /** Returns why these entries must not become durable; null: they may. */
  readonly refuse: (entries: readonly Entry[]) => string | null
  /** Measures the disk, and schedules background work. */
  readonly clock: Clock
  /**
   * Writes zeros ahead of the log. Called in a later turn after the log is opened, and after the
   * acknowledgement of each group commit.
   */
  readonly prepare: (() => void) | null
  /** Returns the size of the log on disk; sent with each group commit. */
  readonly measure?: () => LogSize
  /** Background verification of the log; unset: none. */
  readonly scrub?: { readonly limits: LogLimits; readonly wal: () => LogScrubOptions['wal'] }
  /** Called when the log failed and the other threads were notified: the process must stop. */
  readonly onFailed: (failed: LogFailed) => void
}

/**
 * The log thread: handles messages in order. Each operation waits for the disk; the messages that
 * arrive during it form the next group.
 */
export class LogActor {
  readonly #options: LogActorOptions
  /** null: the log is damaged and not repaired yet. */
  #store: LogStore | null
  readonly #damaged: DamagedLog | null
  #scrub: LogScrub | null = null
  #over = false

  constructor(options: LogActorOptions) {
    const { store } = options
    this.#options = options
    this.#damaged = 'log' in store ? store : null
    this.#store = 'log' in store ? null : store
  }

  /** Sends the content or the damage of the log, and begins to handle messages. */
  start(): void {
    const { raft, api } = this.#options
    raft.onMessages((messages) => this.#guard(() => this.#serveRaft(messages)))
    api?.onMessages((messages) => this.#guard(() => this.#serveApi(messages)))
    if (this.#damaged === null) this.#opened()
    else raft.post({ kind: 'damaged', ...this.#damaged.log.summary })
  }

  #opened(): void {
    const { raft, clock, scrub } = this.#options
    raft.post({ kind: 'opened', recovered: this.#open.recovered })
    this.#prepareSoon()
    if (scrub === undefined) return
    this.#scrub = new LogScrub({
      ...{ clock, limits: scrub.limits, wal: scrub.wal(), guard: (turn) => this.#guard(turn) },
      found: (line) => raft.post({ kind: 'damage-found', line }),
      repaired: (line) => raft.post({ kind: 'damage-repaired', line }),
      passed: () => raft.post({ kind: 'scrubbed' }),
    })
    this.#scrub.start()
  }

  get #open(): LogStore {
    return present(this.#store, 'the log is repaired before it is used')
  }

  #repair({ covered, entries }: LogRepair & { readonly covered: SnapshotMeta }): void {
    const damaged = present(this.#damaged, 'a damaged log is repaired')
    const plan = damaged.log.plan(covered)
    if (plan.kind === 'fetch' && entries.length === 0) {
      const { first } = plan
      this.#options.raft.post({ kind: 'repair-wants', first, anchor: damaged.log.damage.anchor })
      return
    }
    this.#store = damaged.repaired({ covered, entries })
    this.#opened()
  }

  #serveRaft(messages: readonly RaftToLog[]): void {
    let group: Write[] = []
    for (const message of messages) {
      if (message.kind === 'write') {
        group.push(message)
        continue
      }
      this.#commit(group)
      group = []
      if (this.#over) return
      this.#serveOne(message)
    }
    this.#commit(group)
  }

  #serveOne(message: Exclude<RaftToLog, Write>): void {
    const { raft, scrub } = this.#options
    switch (message.kind) {
      case 'repair':
        return this.#repair(message)
      case 'fetch': {
        const { id, from, bytesMax } = message
        const refused = this.#read(from, null, bytesMax, (entries) =>
          raft.post({ kind: 'fetched', id, entries }),
        )
        if (refused !== null) raft.post({ kind: 'fetch-refused', id, reason: refused })
        return
      }
      case 'compact':
        this.#open.compact(message.base)
        raft.post({ kind: 'compacted', index: message.base.index })
        this.#scrub?.repair()
        return
      case 'trim': {
        const { request, through } = message
        const isDone = this.#open.trim(through, (scrub?.limits ?? defaultLogLimits).rewriteBytesMax)
        raft.post({ kind: 'trimmed', request, isDone })
        return
      }
      case 'stop':
        this.#over = true
        this.#store?.close()
        raft.post({ kind: 'stopped' })
        return
      default:
        assertNever(message)
    }
  }

  #serveApi(messages: readonly ApiToLog[]): void {
    const { api } = this.#options
    for (const { id, from, to, bytesMax } of messages) {
      const refused = this.#read(from, to, bytesMax, (entries) =>
        api?.post({ kind: 'read-done', id, entries }),
      )
      if (refused !== null) api?.post({ kind: 'read-refused', id, reason: refused })
    }
  }

  #commit(group: readonly Write[]): void {
    const last = group.at(-1)
    if (last === undefined || this.#over) return
    const { raft, clock, measure, refuse } = this.#options
    const began = clock.monotonicMs()
    for (const { entries } of group) {
      const refusal = refuse(entries)
      if (refusal !== null) throw new LogError('altered', refusal)
    }
    this.#open.append(group)
    raft.post({
      kind: 'persisted',
      ticket: last.ticket,
      syncMs: clock.monotonicMs() - began,
      writes: group.length,
      size: measure?.() ?? null,
    })
    raft.flush()
    this.#prepareSoon()
  }

  /** Calls `prepare` in a later turn, so that the acknowledgement is sent first. */
  #prepareSoon(): void {
    const { clock, prepare } = this.#options
    if (prepare !== null) clock.soon(() => this.#guard(prepare))
  }

  /**
   * Reads entries and passes them to `answer`.
   *
   * @returns why the read is refused; null when `answer` was called
   */
  #read(
    from: LogIndex,
    to: LogIndex | null,
    bytesMax: number,
    answer: (entries: ReturnType<LogStore['read']>) => void,
  ): ReadRefusal | null {
    try {
      answer(this.#open.read(from, to ?? endless, bytesMax))
      return null
    } catch (cause) {
      if (cause instanceof LogError && (cause.code === 'compacted' || cause.code === 'missing'))
        return cause.code
      throw cause
    }
  }

  /**
   * Runs an action. A failure of the log is sent to the other threads once; nothing is handled
   * after it.
   */
  #guard(action: () => void): void {
    if (this.#over) return
    try {
      action()
    } catch (cause) {
      if (!(cause instanceof LogError)) throw cause
      this.#over = true
      const failed: LogFailed = { kind: 'failed', code: cause.code, message: cause.message }
      this.#options.raft.post(failed)
      this.#options.api?.post(failed)
      this.#options.onFailed(failed)
    }
  }
}
