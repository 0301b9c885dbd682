import type { Role } from './ready.ts'
import { noIndex, noTerm } from './types.ts'
import type { LogIndex, NodeId, Term } from './types.ts'

/** The state at the last Ready. Later states must not contradict it: see `checkMonotonic`. */
export type ReportedState = {
  readonly role: Role
  readonly term: Term
  readonly vote: NodeId | null
  readonly applied: LogIndex
  readonly commit: LogIndex
  readonly commitTerm: Term
  readonly lastIndex: LogIndex
  readonly lastTerm: Term
}

export const nothingReported: ReportedState = Object.freeze({
  role: 'follower',
  term: noTerm,
  vote: null,
  applied: noIndex,
  commit: noIndex,
  commitTerm: noTerm,
  lastIndex: noIndex,
  lastTerm: noTerm,
})
