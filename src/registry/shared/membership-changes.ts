import { ApiError } from '../../api/errors/api-error.ts'
import type { ApiErrorDetails } from '../../api/errors/api-error.ts'

/**
 * A change of the cluster's membership, which Member objects reflect but do not decide. It is
 * requested from consensus and visible in memory once made. Each is idempotent.
 */
export type MembershipChange =
  | { readonly kind: 'remove-member'; readonly id: string }
  | { readonly kind: 'set-member-role'; readonly id: string; readonly voter: boolean }
  /** An address that is null stays as it is. */
  | {
      readonly kind: 'move-member'
      readonly id: string
      readonly peerAddress: string | null
      readonly clientAddress: string | null
    }

/** Where membership changes are requested. */
export interface MembershipChanges {
  /**
   * Resolves once the change is made and this member's memory shows it.
   * @param deadlineMs on the monotonic clock
   * @throws ApiError it was not made, or its outcome is unknown
   */
  apply(change: MembershipChange, deadlineMs: number): Promise<void>
  /**
   * Checks whether the change would be refused, according to this member's memory; to be called
   * after a barrier. Changes nothing. @throws ApiError
   */
  dryRun(change: MembershipChange): void
}

/**
 * Returns the error of a request that failed after membership changes were made, which are not
 * rolled back. The request must not be repeated blindly, so no retry delay is given.
 */
export function partialFailure(made: readonly MembershipChange[], cause: unknown): unknown {
  if (made.length === 0 || !(cause instanceof ApiError)) return cause
  const fields = made.flatMap(fieldsOf).join(' and ')
  const details: { -readonly [Name in keyof ApiErrorDetails]: ApiErrorDetails[Name] } = { ...cause.details }
  delete details.retryAfterSeconds
  const message = `${cause.message} (done as asked: ${fields}; not done: the rest of the request)`
  return new ApiError(cause.code, message, details, { cause })
}

function fieldsOf(change: MembershipChange): readonly string[] {
  switch (change.kind) {
    case 'remove-member':
      return ['membership']
    case 'set-member-role':
      return ['spec.role']
    case 'move-member': {
      const peer = change.peerAddress === null ? [] : ['spec.peerAddress']
      return change.clientAddress === null ? peer : [...peer, 'spec.clientAddress']
    }
  }
}
