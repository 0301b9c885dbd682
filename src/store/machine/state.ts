import { emptyConfiguration, noIndex, noTerm } from '../../../raft/index.ts'
import type { Configuration, LogIndex, Term } from '../../../raft/index.ts'
import type { ClusterIdentity, Settings } from '../command.ts'
import { noRevision } from '../revision.ts'
import type { Revision } from '../revision.ts'
import { newHash } from './hash.ts'
import type { Hash128 } from './hash.ts'
import { History } from './event-history.ts'
import { RecordSlabs } from './record-slabs.ts'
import { ObjectTable } from './object-table.ts'
import { Sessions } from './proposer-sessions.ts'
import { StorageUsage } from './storage-usage.ts'

/**
 * The whole replicated state as one record. Once it is loaded, only `Machine` changes what is
 * replicated.
 */
export type MachineState = {
  /** Index of the last applied entry. */
  appliedIndex: LogIndex
  appliedTerm: Term
  /** In effect at `appliedIndex`. */
  configuration: Configuration
  revision: Revision
  identity: ClusterIdentity | null
  settings: Settings
  /** Level of the rules that apply; raised by command once every member supports them. */
  featureLevel: number
  readonly objects: ObjectTable
  /** Memory of the versions; not part of the replicated state. */
  readonly records: RecordSlabs
  readonly history: History
  readonly sessions: Sessions
  /** Sum of the hashes of all readable versions. */
  readonly versionsSum: Hash128
  /** Bytes of all readable versions. Recomputed when the state is loaded. */
  readonly usage: StorageUsage
  /**
   * Usage exceeded the quota, or the quota refused a write when usage was at nine tenths of it or
   * more. Ends when usage falls below nine tenths.
   */
  storageAlarm: boolean
}

/** Settings until the first command of the cluster. */
export const initialSettings: Settings = Object.freeze({
  historyWindowMs: 5 * 60 * 1000,
  historyEventsMin: 1000,
  objectBytesMax: 3 * 1024 * 1024,
  storageBytesMax: null,
})

export function emptyState(): MachineState {
  const records = new RecordSlabs()
  return {
    appliedIndex: noIndex,
    appliedTerm: noTerm,
    configuration: emptyConfiguration,
    revision: noRevision,
    identity: null,
    settings: initialSettings,
    featureLevel: 1,
    objects: new ObjectTable(),
    records,
    history: new History(noRevision, records),
    sessions: new Sessions(),
    versionsSum: newHash(),
    usage: new StorageUsage(),
    storageAlarm: false,
  }
}
