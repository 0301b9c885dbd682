import type { ReadContext } from './message.ts'
import type { Dropped } from './ready.ts'
import type { LogIndex } from './types.ts'

/*
 * Every way a verb of the core may be answered. Being turned away is expected, so it is a value:
 * the caller decides whether to wait, to ask the leader or to give up.
 */

/** `first` is the slot of the first datum; the others follow it. */
export type ProposeAnswer =
  | { readonly kind: 'accepted'; readonly first: LogIndex }
  | { readonly kind: 'dropped'; readonly reason: Dropped }

/** `context` comes back in `Ready.readsConfirmed` or `Ready.readsFailed`, once. */
export type ReadAnswer =
  | { readonly kind: 'accepted'; readonly context: ReadContext }
  | { readonly kind: 'dropped'; readonly reason: Dropped }

/**
 * `index` is the slot of the configuration entry. It is in force already and done once committed.
 */
export type ChangeAnswer =
  | { readonly kind: 'accepted'; readonly index: LogIndex }
  | { readonly kind: 'dropped'; readonly reason: Dropped }
  | { readonly kind: 'refused'; readonly reason: ChangeRefused }

/**
 * - `change-pending`: the previous change is not committed, or its joint configuration not left.
 * - `term-unsettled`: this leader has not committed an entry of its own term yet (ask again soon).
 * - `no-voters`: nobody would be left to decide.
 * - `unchanged`: it is what is already in force.
 */
export type ChangeRefused = 'change-pending' | 'term-unsettled' | 'no-voters' | 'unchanged'

export type TransferAnswer =
  { readonly kind: 'accepted' } | { readonly kind: 'refused'; readonly reason: TransferRefused }

/**
 * - `target-silent`: nothing was heard of it for an election timeout.
 * - `target-behind`: it lacks too much of the log, or that is not known yet.
 * - `target-declined`: it did not take over when it was told to, some election timeouts ago at
 *   most.
 */
export type TransferRefused =
  'not-leader' | 'not-a-voter' | 'target-silent' | 'target-behind' | 'target-declined'

export type ResignAnswer =
  { readonly kind: 'accepted' } | { readonly kind: 'refused'; readonly reason: 'not-leader' | 'votes-alone' }
