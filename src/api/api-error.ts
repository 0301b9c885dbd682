import { Failure } from '../../raft/base/failure.ts'

/**
 * The `reason` of a `Status`, and so the closed list of what an API call can fail with. Names are
 * upstream's; `status.ts` gives each its HTTP code.
 */
export type ApiErrorReason =
  | 'BadRequest'
  | 'Unauthorized'
  | 'Forbidden'
  | 'NotFound'
  | 'AlreadyExists'
  | 'Conflict'
  | 'Gone'
  | 'Expired'
  | 'Invalid'
  | 'Timeout'
  | 'ServerTimeout'
  | 'TooManyRequests'
  | 'MethodNotAllowed'
  | 'NotAcceptable'
  | 'RequestEntityTooLarge'
  | 'UnsupportedMediaType'
  /** These three are not upstream's, which answers them with plain text. */
  | 'RequestTimeout'
  | 'ExpectationFailed'
  | 'RequestHeaderFieldsTooLarge'
  | 'InternalError'
  | 'ServiceUnavailable'
  | 'NotImplemented'

/** One wrong thing in one field; `Status.details.causes`. */
export type ApiErrorCause = {
  /**
   * Upstream's `FieldValueRequired`, `FieldValueInvalid`, `FieldValueNotSupported`,
   * `ResourceVersionTooLarge`, …
   */
  readonly reason: string
  readonly message: string
  /** Path such as `metadata.name` or `data[a b]`; empty when no field is meant. */
  readonly field: string
}

export type ApiErrorDetails = {
  /** Of the object meant, where known. `kind` holds the plural resource name where upstream does so. */
  readonly name?: string
  readonly group?: string
  readonly kind?: string
  readonly uid?: string
  readonly causes?: readonly ApiErrorCause[]
  /** A page goes on with this at the newest version; `metadata.continue` of the `Status`. */
  readonly continueToken?: string
  /** Seconds; also sent as `Retry-After`. Never with an unknown outcome. */
  readonly retryAfterSeconds?: number
  /** Methods that are allowed; no part of the `Status`, but sent as `Allow`. */
  readonly allow?: readonly string[]
}

/** A call that ends in a `Status`. Thrown anywhere below the server, rendered there once. */
export class ApiError extends Failure<ApiErrorReason> {
  readonly details: ApiErrorDetails

  constructor(
    reason: ApiErrorReason,
    message: string,
    details: ApiErrorDetails = {},
    options?: { readonly cause?: unknown },
  ) {
    super(reason, message, options)
    this.details = details
  }
}
