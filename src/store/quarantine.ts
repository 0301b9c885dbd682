import type { LogIndex } from '../../raft/index.ts'
import { StoreFailure } from './errors.ts'

/** The state of this member is not to be trusted: it serves nothing until another member's took its place. */
export type Quarantine = {
  /** One line for the operator. */
  readonly reason: string
  /** No state behind this will do: clients saw versions up to here. */
  readonly atLeast: LogIndex
}

/** What every caller is told meanwhile. The reason is for the log: an answer is public. */
export function quarantined(): StoreFailure {
  return new StoreFailure(
    'quarantined',
    'the state of this member is being fetched anew from another one; ask another member',
  )
}
