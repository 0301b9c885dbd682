import { ApiError } from '../api/api-error.ts'
import { modifiedConflict } from '../api/api-errors.ts'
import type { Condition, Operation } from '../store/command.ts'
import type { Revision } from '../store/revision.ts'
import type { VerbRequest } from './answer.ts'
import { resourceOf } from './definition.ts'
import type { VerbParts } from './parts.ts'
import { fromStore } from './store-errors.ts'

/** What evaluating a write on this member's memory comes to. */
export type Plan<T> =
  /** Nothing to write: unchanged, or a dry run. */
  | { readonly kind: 'answer'; readonly value: T }
  | {
      readonly kind: 'write'
      readonly operations: readonly Operation[]
      readonly done: (revisions: readonly Revision[]) => T
    }

export type SettleOptions = {
  /** Evaluations at most. */
  readonly attemptsMax: number
  /** The error for a lost condition that another evaluation would lose again; null to try again. */
  readonly onLost?: (condition: Condition) => ApiError | null
  /** When attempts are spent. */
  readonly exhausted?: () => ApiError
}

/**
 * Evaluates a write optimistically on local memory and proposes what it comes to. A refusal or an answer
 * without a write may rest on memory that is behind, so it counts only after a read barrier and one more
 * evaluation. A proposal that lost a race was decided at a point this member has applied, which is as
 * good as a barrier.
 *
 * @param evaluate reads the store anew each time; throws `ApiError` to refuse
 * @throws ApiError
 */
export async function settle<T>(
  parts: VerbParts,
  request: VerbRequest,
  evaluate: () => Plan<T> | Promise<Plan<T>>,
  options: SettleOptions,
): Promise<T> {
  const { store } = parts
  const { deadlineMs } = request.context
  let fresh = false
  let lost = 0
  while (lost < options.attemptsMax) {
    let plan: Plan<T>
    try {
      plan = await evaluate()
    } catch (cause) {
      if (fresh || !(cause instanceof ApiError)) throw cause
      await fromStore(store.barrier(deadlineMs))
      fresh = true
      continue
    }
    if (plan.kind === 'answer') {
      if (fresh) return plan.value
      await fromStore(store.barrier(deadlineMs))
      fresh = true
      continue
    }
    const outcome = await fromStore(store.write({ kind: 'write', operations: plan.operations }, deadlineMs))
    if (outcome.kind === 'done') return plan.done(outcome.revisions)
    if (outcome.kind === 'refused') {
      const error = options.onLost?.(outcome.condition) ?? null
      if (error !== null) throw error
    }
    fresh = true
    lost++
  }
  throw options.exhausted?.() ?? modifiedConflict(resourceOf(request.definition), request.target.name ?? '')
}
