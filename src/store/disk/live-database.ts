import { noIndex } from '../../../raft/index.ts'
import type { LogIndex, SnapshotMeta } from '../../../raft/index.ts'
import { DatabaseError } from '../store-errors.ts'
import type { StoreLimits } from '../store-limits.ts'
import type { MachineState } from '../machine/state.ts'
import { databaseName, indexOfDatabase } from './database-names.ts'
import { readDisagreement } from './disagreement-record.ts'
import type { DisagreementRecord } from './disagreement-record.ts'
import type { KeyValueDatabases, KeyValueStore } from './key-value-store.ts'
import { headKey } from './machine-keys.ts'
import { loadState } from './recovery.ts'
import { decodeStoredHead } from './stored-head.ts'

export type Database = { readonly name: string; readonly store: KeyValueStore }

export type LiveDatabaseOptions = {
  readonly databases: KeyValueDatabases
  readonly limits: StoreLimits
  /** The recovered log begins after this index: a database behind it cannot catch up. */
  readonly logBase: SnapshotMeta
  /** Last index of the log: a database beyond it means that the log lost entries. */
  readonly logLast: LogIndex
  /** See `loadState`. */
  readonly featureLevelMax: number
}

/**
 * Result of opening. `damaged`: why the existing database was quarantined or, if there was none,
 * why `open` is null. null: neither.
 */
export type LiveDatabase = {
  /**
   * The verified state and its database; null: none is usable, and the log alone cannot rebuild
   * one.
   */
  readonly open: {
    readonly database: Database
    readonly state: MachineState
    /** null: no other member is known to have another state. */
    readonly disagreement: DisagreementRecord | null
  } | null
  readonly damaged: string | null
  /**
   * There was no database although the log has entries. If `open` is set, the log rebuilds the
   * state.
   */
  readonly missing: boolean
}

/**
 * Opens the newest database that is not beyond the log's base, verifies it and loads it into
 * memory; removes leftovers. A database beyond the base was staged and never became the state,
 * because the log record is the commit point. A database at or below the base may have been staged
 * and then overtaken by entries: in that case the live one is newer.
 *
 * A damaged database, or one marked as quarantined by a process that ended too early, is
 * quarantined and never read again. A log that still has its first entry rebuilds the state.
 *
 * @throws DatabaseError `beyond-log`, `unsupported`, and `io` or `full` when the disk is at fault
 */
export async function openLiveDatabase(options: LiveDatabaseOptions): Promise<LiveDatabase> {
  const { databases, logBase } = options
  const candidates: Candidate[] = []
  let damaged: string | null = null
  const quarantine = async (name: string, cause: unknown): Promise<void> => {
    damaged ??= distrustReason(name, cause)
    await databases.quarantine(name)
  }
  for (const [name, reason] of await databases.quarantineMarks()) {
    damaged ??= `database ${name} was quarantined before this start: ${reason === '' ? 'no reason noted' : reason}`
    await databases.quarantine(name)
  }
  for (const name of await databases.list()) {
    const index = indexOfDatabase(name)
    if (index === null) continue
    try {
      if (index > logBase.index) await databases.destroy(name)
      else candidates.push({ name, applied: await appliedIn(databases, name) })
    } catch (cause) {
      await quarantine(name, cause)
    }
  }
  candidates.sort((a, b) => b.applied - a.applied)
  for (const [at, { name }] of candidates.entries()) {
    try {
      const open = await openWhole(name, options)
      for (const other of candidates.slice(at + 1)) await databases.destroy(other.name)
      return { open, damaged, missing: false }
    } catch (cause) {
      await quarantine(name, cause)
    }
  }
  const missing = damaged === null && options.logLast > noIndex
  if (logBase.index === noIndex) {
    return { open: await openWhole(databaseName(noIndex), options), damaged, missing }
  }
  const why = `there is no database, and the log begins after ${logBase.index}`
  return { open: null, damaged: damaged ?? why, missing }
}

type Candidate = { readonly name: string; readonly applied: number }

async function openWhole(
  name: string,
  options: LiveDatabaseOptions,
): Promise<NonNullable<LiveDatabase['open']>> {
  const { databases, limits, logBase, logLast, featureLevelMax } = options
  const store = await databases.open(name)
  try {
    const state = await loadState(store, limits, featureLevelMax)
    if (state.appliedIndex < logBase.index) {
      const why = `the database is at index ${state.appliedIndex}, the log begins after ${logBase.index}`
      throw new DatabaseError('behind-log', why)
    }
    if (state.appliedIndex > logLast) {
      throw new DatabaseError(
        'beyond-log',
        `the database is at index ${state.appliedIndex}, the log ends at ${logLast}: ` +
          'the log lost entries that this member promised to keep; it must be replaced by a new member',
      )
    }
    return { database: { name, store }, state, disagreement: await readDisagreement(store) }
  } catch (cause) {
    await store.close()
    throw cause
  }
}

/**
 * @returns why the database is not trusted
 * @throws any other error; a DatabaseError names the database, and the remedy for `io`
 */
function distrustReason(name: string, cause: unknown): string {
  if (!(cause instanceof DatabaseError)) throw cause
  const { code, message } = cause
  if (isDamage(cause)) return `database ${name}: ${message}`
  // The database is not at fault, and an older one would only be stale: the start fails.
  const remedy =
    code === 'io'
      ? ': check the disk and its permissions; if there are other members, remove the directory of databases, never the log, ' +
        'and their state is fetched'
      : ''
  throw new DatabaseError(code, `database ${name}: ${message}${remedy}`, { cause })
}

/** Whether the database is at fault, so that another one helps. */
export function isDamage({ code }: DatabaseError): boolean {
  return code === 'damaged' || code === 'digest' || code === 'behind-log'
}

/**
 * Returns the applied index of a database; -1 for one without a head, which is new or incomplete.
 * @throws DatabaseError
 */
async function appliedIn(databases: KeyValueDatabases, name: string): Promise<number> {
  const store = await databases.open(name)
  try {
    const [stored] = await store.getMany([headKey])
    return stored === null || stored === undefined ? -1 : decodeStoredHead(stored).head.appliedIndex
  } finally {
    await store.close()
  }
}
