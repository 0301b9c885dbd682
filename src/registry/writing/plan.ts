import type { Condition, Operation } from '../../store/command.ts'
import type { Revision } from '../../store/revision.ts'
import type { VerbResponse } from '../calls/verb.ts'
import type { MembershipChange } from '../shared/membership-changes.ts'
import type { ReadSet } from '../shared/read-set.ts'

/** The result of evaluating a write on this member's memory. */
export type Plan =
  /** Nothing to write. */
  | { readonly kind: 'answer'; readonly value: VerbResponse }
  /** The operations that would be written, and the response. */
  | { readonly kind: 'dry-run'; readonly operations: readonly Operation[]; readonly value: VerbResponse }
  | {
      readonly kind: 'write'
      /** The operation on the object itself comes first, if there is one. */
      readonly operations: readonly Operation[]
      /** Returns the response from the revisions of the operations. */
      readonly done: (revisions: readonly Revision[]) => VerbResponse
    }
  /** Membership changes, requested one after another; then `next`. A dry run only checks them. */
  | {
      readonly kind: 'membership-changes'
      readonly changes: readonly MembershipChange[]
      readonly dryRun: boolean
      /**
       * The operations expected after the changes: if they exceed the quota, no change is
       * requested.
       */
      readonly operations: readonly Operation[]
      /** The remaining work. Evaluated again after each lost race. */
      readonly next: Evaluate
    }

/**
 * Evaluates a write on memory as it is. Has no effects, so it may be called again. @throws ApiError
 * to refuse
 */
export type Evaluate = (reads: ReadSet) => Plan | Promise<Plan>

/** Returns the plan with further operations in its command, such as those that admission adds. */
export function withExtraOperations(plan: Plan, extra: readonly Operation[]): Plan {
  if (extra.length === 0 || plan.kind === 'answer') return plan
  return { ...plan, operations: [...plan.operations, ...extra] }
}

/**
 * Returns the plan with further conditions of the object's own operation, such as those that
 * admission adds.
 */
export function withConditions(plan: Plan, conditions: readonly Condition[]): Plan {
  if (conditions.length === 0 || plan.kind !== 'write') return plan
  const [first, ...rest] = plan.operations
  if (first === undefined) return plan
  return { ...plan, operations: [{ ...first, conditions: [...first.conditions, ...conditions] }, ...rest] }
}

/** Returns a plan that writes one object. */
export function planPut(
  put: Extract<Operation, { readonly kind: 'put' }>,
  of: { readonly dryRun: VerbResponse | null; readonly done: (revision: Revision) => VerbResponse },
): Plan {
  const operations = [put]
  if (of.dryRun !== null) return { kind: 'dry-run', operations, value: of.dryRun }
  return { kind: 'write', operations, done: ([revision]) => of.done(revision as Revision) }
}
