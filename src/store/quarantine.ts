import type { LogIndex, SnapshotMeta } from '../../raft/index.ts'
import { StoreError } from './store-errors.ts'
import type { StoreLimits } from './store-limits.ts'
import { emptyState } from './machine/state.ts'
import type { MachineState } from './machine/state.ts'

/**
 * - `damaged`: bytes in memory or on disk are damaged, or the log does not continue any database
 * - `disagreement`: nothing is damaged here, but other members have another state
 * - `operator`: an operator replaces the state of this member
 */
export type QuarantineCause = 'damaged' | 'disagreement' | 'operator'

/**
 * - `outvoted`: a majority of the voters agrees on another state
 * - `undecided`: some member has another state, and no majority is known to have one
 */
export type Disagreement = 'outvoted' | 'undecided'

/** The state of this member is not served. */
export type Quarantine =
  /** The database is moved away, and another member's state is fetched. */
  | {
      readonly cause: 'damaged' | 'operator'
      /** One line for the operator. */
      readonly reason: string
      /**
       * Minimum index of the replacement: clients may have seen the state up to it, and the log may
       * lack earlier entries.
       */
      readonly atLeast: LogIndex
      /**
       * Number of states in a row that were found damaged, from 1. A state continues the row if it
       * was found damaged within `repairRowMs` after it became trusted. Always 1 for `operator`.
       */
      readonly times: number
      /** How long to wait before another member's state is requested. */
      readonly waitMs: number
    }
  /** The state is kept and follows the log, until it is confirmed or an operator decides. */
  | { readonly cause: 'disagreement'; readonly disagreement: Disagreement; readonly reason: string }

/**
 * Returns how long the repair of a state waits. Repeated damage is the fault of this machine, and
 * each repair costs a healthy member a scan of its database: so the first repair begins at once,
 * and each later one waits twice as long as the one before, up to a maximum.
 */
export function repairWaitMs(
  times: number,
  { repairWaitMsMin, repairWaitMsMax }: Pick<StoreLimits, 'repairWaitMsMin' | 'repairWaitMsMax'>,
): number {
  return times === 1 ? 0 : Math.min(repairWaitMsMax, repairWaitMsMin * 2 ** (times - 2))
}

/** Returns the error for all callers. It does not contain the reason, as errors are public. */
export function quarantinedError(): StoreError {
  return new StoreError('quarantined', 'the state of this member is not trusted; ask another member')
}

/** Returns the initial state of a member without a database: only its log position is known. */
export function emptyAt({ index, term, configuration }: SnapshotMeta): MachineState {
  const state = emptyState()
  state.appliedIndex = index
  state.appliedTerm = term
  state.configuration = configuration
  return state
}
