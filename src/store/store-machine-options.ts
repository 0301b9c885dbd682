import type { Clock } from '../../base/clock.ts'
import type { LogIndex, SnapshotMeta } from '../../raft/index.ts'
import { featureLevelMax as newestLevel } from '../version.ts'
import type { KeyValueDatabases } from './disk/key-value-store.ts'
import type { QuarantinedDatabaseEvent } from './disk/quarantined-database.ts'
import type { StoreLimits } from './store-limits.ts'
import type { Quarantine } from './quarantine.ts'

export type StoreMachineOptions = {
  readonly databases: KeyValueDatabases
  readonly clock: Clock
  readonly limits: StoreLimits
  /** The recovered log begins after this index: it determines which database is the live one. */
  readonly logBase: SnapshotMeta
  /** Last index of the log: a database beyond it means that the log lost entries. */
  readonly logLast: LogIndex
  /** Highest feature level of this member; unset: the program's newest. */
  readonly featureLevelMax?: number
  /**
   * The database cannot be read, written or moved away, entries cannot be applied, or no snapshot
   * can be received: the member must stop. Called at most once.
   */
  readonly onFailure: (cause: unknown) => void
  /** Called after another member's state was installed. */
  readonly onInstalled?: (snapshot: SnapshotMeta) => void
  /** Called when the state is quarantined, also at the start. */
  readonly onQuarantine?: (quarantine: Quarantine) => void
  /** Called when the database was quarantined and the log rebuilds the state. */
  readonly onReplay?: (why: string) => void
  /** Called when there was no database and the log rebuilds the state. */
  readonly onMissing?: () => void
  /** Events of the quarantined database. */
  readonly onQuarantinedDatabase?: (news: QuarantinedDatabaseEvent) => void
  /** Whether snapshots of this state may be sent; see `StateGuard.mayGive`. Unset: always. */
  readonly mayGive?: () => boolean
}

export function levelMaxOf({ featureLevelMax = newestLevel }: StoreMachineOptions): number {
  return featureLevelMax
}
