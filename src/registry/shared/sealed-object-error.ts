import { ApiError } from '../../api/errors/api-error.ts'
import type { ApiErrorDetails } from '../../api/errors/api-error.ts'

/**
 * An object is stored encrypted, and this member cannot decrypt it: it lacks the key, or the stored
 * bytes were changed. Thrown by the properties of `StoredObject` that need the plain bytes.
 */
export class SealedObjectError extends ApiError {
  /**
   * Settles once a key management service has returned the key, or has failed: then another
   * attempt is worthwhile. null: only another configuration helps.
   */
  readonly opening: Promise<void> | null

  constructor(message: string, opening: Promise<void> | null = null, details: ApiErrorDetails = {}) {
    if (opening === null) super('InternalError', `Internal error occurred: ${message}`, details)
    else super('ServiceUnavailable', message, { ...details, retryAfterSeconds: 1 })
    this.opening = opening
  }
}
