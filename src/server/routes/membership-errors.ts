import { ConsensusError, MembershipError } from '../../../raft/index.ts'
import type { ChangeRefusal } from '../../../raft/index.ts'
import { ApiError } from '../../api/errors/api-error.ts'
import type { ApiErrorReason } from '../../api/errors/api-error.ts'
import { IssueError } from '../../membership/join-service.ts'
import type { IssueErrorCode } from '../../membership/join-service.ts'
import { JoinError } from '../../membership/join-rules.ts'
import type { JoinErrorCode } from '../../membership/join-rules.ts'
import { MembersError } from '../../membership/members.ts'
import type { MembersErrorCode } from '../../membership/members.ts'
import { apiErrorOf } from '../../registry/shared/store-error-mapping.ts'

/**
 * Converts an error of the membership routes or of the store to an API error; returns any other
 * error unchanged.
 */
export function membershipError(cause: unknown): unknown {
  if (cause instanceof MembershipError) return withReason(changeReasons[cause.code], cause)
  if (cause instanceof JoinError) return withReason(joinReasons[cause.code], cause)
  if (cause instanceof IssueError) return withReason(issueReasons[cause.code], cause)
  if (cause instanceof MembersError) {
    return withReason(memberReasons[cause.code], cause)
  }
  if (cause instanceof ConsensusError) {
    // The request is idempotent, so the client may retry.
    return withReason(cause.code === 'timed-out' ? 'Timeout' : 'ServiceUnavailable', cause)
  }
  return apiErrorOf(cause)
}

const memberReasons: Readonly<Record<MembersErrorCode, ApiErrorReason>> = {
  'unknown-member': 'NotFound',
  'no-candidate': 'BadRequest',
  silent: 'BadRequest',
  elsewhere: 'BadRequest',
  'no-state': 'Conflict',
}

const changeReasons: Readonly<Record<ChangeRefusal, ApiErrorReason>> = {
  'name-taken': 'AlreadyExists',
  'id-taken': 'Conflict',
  'address-taken': 'AlreadyExists',
  'unknown-member': 'NotFound',
  'replaced-unknown': 'NotFound',
  'replaces-pinned': 'Invalid',
  'last-voter': 'Invalid',
  'below-live-quorum': 'Conflict',
  'not-caught-up': 'Conflict',
  'too-many-members': 'Invalid',
  'change-pending': 'ServiceUnavailable',
  'term-unsettled': 'ServiceUnavailable',
  impossible: 'Invalid',
}

const joinReasons: Readonly<Record<JoinErrorCode, ApiErrorReason>> = {
  'unknown-token': 'Unauthorized',
  used: 'Forbidden',
  expired: 'Forbidden',
  removed: 'Forbidden',
  'other-member': 'Invalid',
  'other-cluster': 'Invalid',
  'other-keys': 'Invalid',
  'other-rules': 'Invalid',
  'name-taken': 'AlreadyExists',
  'address-taken': 'AlreadyExists',
  'replaced-gone': 'Conflict',
  'not-founded': 'ServiceUnavailable',
}

const issueReasons: Readonly<Record<IssueErrorCode, ApiErrorReason>> = {
  taken: 'AlreadyExists',
  unknown: 'NotFound',
  unready: 'Conflict',
  full: 'TooManyRequests',
  busy: 'ServiceUnavailable',
}

function withReason(reason: ApiErrorReason, cause: Error): ApiError {
  const details = reason === 'ServiceUnavailable' ? { retryAfterSeconds: 1 } : {}
  return new ApiError(reason, cause.message, details, { cause })
}
