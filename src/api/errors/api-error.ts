import { CodedError } from '../../../base/coded-error.ts'
import { cutToJsonBytes, jsonBytes } from './error-size.ts'
import { errorLimits } from '../limits.ts'
import { shortText } from './short-text.ts'

/**
 * The `reason` of a `Status`, and so the closed list of errors of API calls. Names are upstream's;
 * `status.ts` gives each its HTTP code.
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
  /** Upstream answers these three with plain text instead of a Status. */
  | 'RequestTimeout'
  | 'ExpectationFailed'
  | 'RequestHeaderFieldsTooLarge'
  | 'InternalError'
  | 'ServiceUnavailable'
  | 'NotImplemented'

/** One error in one field; `Status.details.causes`. */
export type ApiErrorCause = {
  /**
   * Upstream's `FieldValueRequired`, `FieldValueInvalid`, `FieldValueNotSupported`,
   * `ResourceVersionTooLarge`, …
   */
  readonly reason: string
  readonly message: string
  /** Path such as `metadata.name` or `data[a b]`; empty for the whole object. */
  readonly field: string
}

export type ApiErrorDetails = {
  /**
   * `name`, `group`, `kind` and `uid` identify the object, where it is known. `kind` holds the
   * plural resource name where upstream does so.
   */
  readonly name?: string
  readonly group?: string
  readonly kind?: string
  readonly uid?: string
  readonly causes?: readonly ApiErrorCause[]
  /** Token to continue a list at the newest version; `metadata.continue` of the `Status`. */
  readonly continueToken?: string
  /** Seconds; also sent as `Retry-After`. Never set if the outcome of the call is unknown. */
  readonly retryAfterSeconds?: number
  /** Allowed methods; sent as `Allow`, and not part of the `Status`. */
  readonly allow?: readonly string[]
  /** Used in place of the usual code and reason, as when an admission webhook chose them. */
  readonly chosen?: ChosenStatus
}

export type ChosenStatus = {
  /** 400 to 599. */
  readonly code: number
  /** Empty: none. */
  readonly reason: string
}

/**
 * An error that is returned as a `Status`. Thrown anywhere below the server, and rendered there
 * once. Its size is limited by `errorLimits`, and so is each copy of it in logs and the audit
 * trail.
 */
export class ApiError extends CodedError<ApiErrorReason> {
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
  const { name, causes, chosen } = details
  return {
    ...details,
    ...(name === undefined ? {} : { name: shortText(name, errorLimits.nameLengthMax) }),
    ...(causes === undefined ? {} : { causes: fittingCauses(causes) }),
    ...(chosen === undefined
      ? {}
      : { chosen: { ...chosen, reason: shortText(chosen.reason, errorLimits.nameLengthMax) } }),
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
