import type { ReadContext } from './message.ts'
import type { Dropped } from './ready.ts'
import type { LogIndex } from './types.ts'

/*
 * The results of the operations of the core. A refusal is a result and not an exception: the caller
 * decides whether to wait, to send the request to the leader, or to give up.
 */

/** `first` is the index of the first command; the others follow it. */
export type ProposeAnswer =
  | { readonly kind: 'accepted'; readonly first: LogIndex }
  | { readonly kind: 'dropped'; readonly reason: Dropped }

/** `context` is returned in `Ready.readsConfirmed` or `Ready.readsFailed`, once. */
export type ReadAnswer =
  | { readonly kind: 'accepted'; readonly context: ReadContext }
  | { readonly kind: 'dropped'; readonly reason: Dropped }

/**
 * `index` is that of the configuration entry. The configuration, which is joint if more than one
 * voter changes, is in force already. Once the entry is committed, it cannot be lost.
 */
export type ChangeAnswer =
  | { readonly kind: 'accepted'; readonly index: LogIndex }
  | { readonly kind: 'dropped'; readonly reason: Dropped }
  | { readonly kind: 'refused'; readonly reason: ChangeRefused }

/**
 * - `change-pending`: the previous change is not committed, or its joint configuration not left.
 * - `term-unsettled`: this leader has not committed an entry of its own term yet (retry soon).
 * - `no-voters`: no voter would be left.
 * - `unchanged`: this configuration is already in force.
 */
export type ChangeRefused = 'change-pending' | 'term-unsettled' | 'no-voters' | 'unchanged'

export type TransferAnswer =
  { readonly kind: 'accepted' } | { readonly kind: 'refused'; readonly reason: TransferRefused }

/**
 * - `target-silent`: the target has not responded for an election timeout.
 * - `target-behind`: the target lacks too much of the log, or its progress is not known yet.
 * - `target-declined`: the target did not take over in an earlier transfer, at most four election
 *   timeouts ago.
 */
export type TransferRefused =
  'not-leader' | 'not-a-voter' | 'target-silent' | 'target-behind' | 'target-declined'

export type ResignAnswer =
  { readonly kind: 'accepted' } | { readonly kind: 'refused'; readonly reason: 'not-leader' | 'votes-alone' }
