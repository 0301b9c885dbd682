import type { ApiError, ApiErrorCause, ApiErrorDetails } from '../../api/errors/api-error.ts'
import { ApiError as Refusal } from '../../api/errors/api-error.ts'
import { expired, serviceUnavailable, tooLarge, tooManyRequests } from '../../api/errors/standard-errors.ts'
import { tooLargeResourceVersion } from '../../api/errors/standard-errors.ts'
import { StoreError } from '../../store/store-errors.ts'
import type { Revision } from '../../store/revision.ts'

/**
 * Awaits a call of the store and converts a `StoreError` to the `ApiError` of the API.
 *
 * @throws ApiError
 */
export async function fromStore<T>(call: Promise<T>): Promise<T> {
  try {
    return await call
  } catch (cause) {
    throw apiErrorOf(cause)
  }
}

/** As `fromStore`, for a call that only reads. @throws ApiError */
export async function fromRead<T>(call: Promise<T>): Promise<T> {
  try {
    return await call
  } catch (cause) {
    throw readErrorOf(cause)
  }
}

/** As `apiErrorOf`, for a call that only read and cannot have changed anything. */
export function readErrorOf(cause: unknown): unknown {
  if (!(cause instanceof StoreError)) return cause
  switch (cause.code) {
    case 'timed-out': {
      const message = 'Timeout: no quorum answered in time: this member cannot confirm the newest state'
      return new Refusal('Timeout', message, {}, { cause })
    }
    case 'stopped':
      return serviceUnavailable('the server is shutting down: ask another member', soon)
    default:
      return translated(cause)
  }
}

/** Returns the `ApiError` for a `StoreError`, and any other error unchanged. */
export function apiErrorOf(cause: unknown): unknown {
  return cause instanceof StoreError ? translated(cause) : cause
}

function translated(failure: StoreError): ApiError {
  const options = { cause: failure }
  switch (failure.code) {
    case 'compacted':
      return expired(`too old resource version: ${failure.message}`)
    case 'future':
      return new Refusal('Timeout', `Too large resource version: ${failure.message}`, tooNew, options)
    case 'overloaded':
      return tooManyRequests(1)
    case 'timed-out':
    case 'stopped':
      if (failure.applied === 'unknown') {
        return new Refusal('Timeout', `Timeout: ${outcomeUnknown.message}`, causeOf(outcomeUnknown), options)
      }
      if (failure.code === 'stopped') {
        const details = { ...causeOf(notApplied), ...soon }
        return serviceUnavailable('the server is shutting down, nothing was changed', details)
      }
      // No Retry-After: common clients would retry ten times, each as long, before they report the
      // error.
      return new Refusal(
        'Timeout',
        'Timeout: no quorum answered in time, nothing was changed',
        causeOf(notApplied),
        options,
      )
    case 'too-large':
      return tooLarge(failure.message)
    case 'unreadable':
    case 'quarantined':
      return serviceUnavailable(failure.message, { retryAfterSeconds: 5 })
  }
}

/** Machine-readable: whether a failed write may still take effect. */
export const outcomeUnknown: ApiErrorCause = {
  reason: 'OutcomeUnknown',
  message: 'the outcome is unknown: the change may have been made or may still be made',
  field: '',
}
const notApplied: ApiErrorCause = {
  reason: 'NotApplied',
  message: 'nothing was changed, and nothing will be',
  field: '',
}

const applied: ApiErrorCause = {
  reason: 'Applied',
  message: 'the first request with this key took effect, and the repetition changed nothing',
  field: '',
}

/**
 * Returns the error of a repetition that cannot get the response of the first request, because
 * history no longer has that response; returns any other error as `apiErrorOf` does.
 *
 * @param outcome that of the first request
 */
export function responseExpired(cause: unknown, words: string, outcome: 'applied' | 'unknown'): unknown {
  if (!(cause instanceof StoreError) || cause.code !== 'compacted') return apiErrorOf(cause)
  const details = causeOf(outcome === 'applied' ? applied : outcomeUnknown)
  return new Refusal('Expired', `too old resource version: ${words}: ${cause.message}`, details, { cause })
}

/** Whether the error states the outcome of a write: unknown or not applied. */
export function statesOutcome({ details: { causes = [] } }: ApiError): boolean {
  return causes.some(({ reason }) => reason === outcomeUnknown.reason || reason === notApplied.reason)
}

export function isOutcomeUnknown(cause: unknown): boolean {
  return (
    cause instanceof Refusal &&
    (cause.details.causes ?? []).some(({ reason }) => reason === outcomeUnknown.reason)
  )
}

function causeOf(cause: ApiErrorCause): ApiErrorDetails {
  return { causes: [cause] }
}

const soon = { retryAfterSeconds: 1 }
const tooNew = {
  causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version', field: '' }],
  retryAfterSeconds: 1,
}

/** Returns the error of a wait that ended before the version was reached. @source spec 4.8.5 */
export function notReached(wanted: Revision, current: Revision, cause: unknown): unknown {
  if (cause instanceof StoreError && cause.code === 'future') return tooLargeResourceVersion(wanted, current)
  return readErrorOf(cause)
}
