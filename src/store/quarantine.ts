import type { LogIndex, SnapshotMeta } from '../../raft/index.ts'
import { StoreFailure } from './errors.ts'
import { emptyState } from './machine/state.ts'
import type { MachineState } from './machine/state.ts'
import type { RepairTurn } from './repair-back-off.ts'

/**
 * - `damaged`: bytes in memory or on disk are not what was written, or there is no database
 * - `outvoted`: nothing looks damaged here, and a majority of the others has another state
 */
export type QuarantineCause = 'damaged' | 'outvoted'

/** The state of this member is not to be trusted: it serves nothing until another member's took its place. */
export type Quarantine = {
  readonly cause: QuarantineCause
  /** One line for the operator. */
  readonly reason: string
  /** No state behind this will do: clients saw versions up to here, or the log has nothing to apply here. */
  readonly atLeast: LogIndex
} & RepairTurn

/** What every caller is told meanwhile. The reason is for the log: an answer is public. */
export function quarantined(): StoreFailure {
  return new StoreFailure(
    'quarantined',
    'the state of this member is being fetched anew from another one; ask another member',
  )
}

/** What a member without a state begins with: nothing is known but where its log goes on. */
export function emptyAt({ index, term, configuration }: SnapshotMeta): MachineState {
  const state = emptyState()
  state.appliedIndex = index
  state.appliedTerm = term
  state.configuration = configuration
  return state
}
