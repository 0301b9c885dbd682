import { ApiError } from '../../api/errors/api-error.ts'
import type { ApiErrorReason } from '../../api/errors/api-error.ts'
import { KeyRingError } from '../../key-ring/errors.ts'
import type { KeyRingErrorCode } from '../../key-ring/errors.ts'
import { fromStore } from '../../registry/shared/store-error-mapping.ts'

const reasons: Readonly<Record<KeyRingErrorCode, ApiErrorReason>> = {
  'unknown-key': 'NotFound',
  'no-keys': 'ServiceUnavailable',
  full: 'Conflict',
  storage: 'TooManyRequests',
  'too-large': 'RequestEntityTooLarge',
  conflict: 'Conflict',
  'wrong-phase': 'Conflict',
  'feature-level': 'Conflict',
}

/** Converts errors of the shared keys. @throws ApiError */
export async function answered<T>(work: Promise<T>): Promise<T> {
  try {
    return await fromStore(work)
  } catch (cause) {
    if (!(cause instanceof KeyRingError)) throw cause
    const details = cause.code === 'no-keys' ? { retryAfterSeconds: 1 } : {}
    throw new ApiError(reasons[cause.code], cause.message, details, { cause })
  }
}
