import type { LogIndex, SnapshotMeta } from '../../raft/index.ts'
import { StoreError } from './store-errors.ts'
import type { StoreLimits } from './store-limits.ts'
import { emptyState } from './machine/state.ts'
import type { MachineState } from './machine/state.ts'

/**
 * - `damaged`: bytes in memory or on disk are not what was written, or there is no database
 * - `disagreement`: nothing is damaged here, and other members have another state
 * - `operator`: an operator has this member replace its state
 */
export type QuarantineCause = 'damaged' | 'disagreement' | 'operator'

/**
 * - `outvoted`: a majority of the voters has one other state
 * - `undecided`: some member has another state, and no majority is known to have one
 */
export type Disagreement = 'outvoted' | 'undecided'

/** The state of this member is not served. */
export type Quarantine =
  /** It is set aside, and another member's is fetched. */
  | {
      readonly cause: 'damaged' | 'operator'
      /** One line for the operator. */
      readonly reason: string
      /**
       * No state before this index will do: clients saw versions up to here, or the log has nothing
       * to apply here.
       */
      readonly atLeast: LogIndex
      /** From 1: how many states in a row were found damaged, each soon after the one before. */
      readonly times: number
      /** How long to wait before another member's state is requested. */
      readonly waitMs: number
    }
  /** It is kept and follows the log, until it is proven right or an operator decides. */
  | { readonly cause: 'disagreement'; readonly disagreement: Disagreement; readonly reason: string }

/**
 * Returns how long the repair of a state waits. States that come out damaged again and again are
 * the fault of this machine, and each repair costs a healthy member a walk through its database: so
 * the first of a row begins at once, each later one after twice the wait.
 */
export function repairWaitMs(
  times: number,
  { repairWaitMsMin, repairWaitMsMax }: Pick<StoreLimits, 'repairWaitMsMin' | 'repairWaitMsMax'>,
): number {
  return times === 1 ? 0 : Math.min(repairWaitMsMax, repairWaitMsMin * 2 ** (times - 2))
}

/** Returns what every caller gets meanwhile. The reason is for the log: an answer is public. */
export function quarantinedError(): StoreError {
  return new StoreError('quarantined', 'the state of this member is not trusted; ask another member')
}

/** Returns what a member without a state begins with: only where its log goes on is known. */
export function emptyAt({ index, term, configuration }: SnapshotMeta): MachineState {
  const state = emptyState()
  state.appliedIndex = index
  state.appliedTerm = term
  state.configuration = configuration
  return state
}
