import { Failure } from '../../../base/failure.ts'
import { cutToJsonBytes, jsonBytes } from './error-size.ts'
import { errorLimits } from '../limits.ts'
import { shortText } from './short-text.ts'

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
  /**
   * Identify the object, where it is known. `kind` holds the plural resource name where upstream
   * does so.
   */
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

/**
 * A call that ends in a `Status`. Thrown anywhere below the server, rendered there once. Whatever
 * it is made of, what it holds is bounded by `errorLimits`, and so is each copy of it in logs and
 * the audit trail.
 */
export class ApiError extends Failure<ApiErrorReason> {
  readonly details: ApiErrorDetails

  constructor(
    reason: ApiErrorReason,
    message: string,
    details: ApiErrorDetails = {},
    options?: { readonly cause?: unknown },
  ) {
    super(reason, cutToJsonBytes(message, errorLimits.messageBytesMax), options)
    this.details = bounded(details)
  }
}

function bounded(details: ApiErrorDetails): ApiErrorDetails {
  const { name, causes } = details
  return {
    ...details,
    ...(name === undefined ? {} : { name: shortText(name, errorLimits.nameLengthMax) }),
    ...(causes === undefined ? {} : { causes: fittingCauses(causes) }),
  }
}

/** Returns as many causes as fit the size limit, and at least one. */
function fittingCauses(causes: readonly ApiErrorCause[]): readonly ApiErrorCause[] {
  let left: number = errorLimits.causesBytesMax
  const fitting: ApiErrorCause[] = []
  for (const cause of causes) {
    const field = cutToJsonBytes(cause.field, errorLimits.causeBytesMax)
    const message = cutToJsonBytes(cause.message, errorLimits.causeBytesMax)
    left -= jsonBytes(field) + jsonBytes(message) + errorLimits.causeOverheadBytes
    if (left < 0 && fitting.length > 0) break
    fitting.push({ reason: cause.reason, message, field })
  }
  return fitting
}
