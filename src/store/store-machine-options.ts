import type { Clock } from '../../base/clock.ts'
import type { LogIndex, SnapshotMeta } from '../../raft/index.ts'
import { featureLevelMax as newestLevel } from '../version.ts'
import type { KeyValueDatabases } from './disk/key-value-store.ts'
import type { QuarantinedDatabaseEvent } from './disk/quarantined-database.ts'
import type { StoreLimits } from './store-limits.ts'
import type { Quarantine } from './quarantine.ts'

export type StoreMachineOptions = {
  readonly home: KeyValueDatabases
  readonly clock: Clock
  readonly limits: StoreLimits
  /** Where the recovered log begins: tells which database is the live one. */
  readonly logBase: SnapshotMeta
  /** Where it ends: the database never passed it, unless the log lost entries. */
  readonly logLast: LogIndex
  /** The newest rules this member may decide by; unset: all that the program knows. */
  readonly featureLevelMax?: number
  /** The database cannot be written any more: the member must stop. Called once at most. */
  readonly onFailure: (cause: unknown) => void
  /** Another member's state took the place of this one's. Unset: nobody wants to know. */
  readonly onInstalled?: (snapshot: SnapshotMeta) => void
  /**
   * The state is not to be trusted; also told when it was found at the start. Unset: nobody wants
   * to know.
   */
  readonly onQuarantine?: (quarantine: Quarantine) => void
  /** What was there is set aside, and the log makes it anew. Unset: nobody wants to know. */
  readonly onReplay?: (why: string) => void
  /** There was no database, though there is a log, which makes it. Unset: nobody wants to know. */
  readonly onMissing?: () => void
  /** Of the database that was set aside. Unset: nobody wants to know. */
  readonly onAside?: (news: QuarantinedDatabaseEvent) => void
  /** Whether this state may be sent to another member; see `StateGuard.mayGive`. Unset: always. */
  readonly mayGive?: () => boolean
}

export function levelMaxOf({ featureLevelMax = newestLevel }: StoreMachineOptions): number {
  return featureLevelMax
}
