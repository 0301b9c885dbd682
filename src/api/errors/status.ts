import type { ApiError, ApiErrorCause, ApiErrorDetails, ApiErrorReason } from './api-error.ts'
import type { Json, JsonObject } from '../json.ts'

/** The HTTP code of each reason. */
export const HTTP_CODES = Object.freeze({
  BadRequest: 400,
  Unauthorized: 401,
  Forbidden: 403,
  NotFound: 404,
  MethodNotAllowed: 405,
  NotAcceptable: 406,
  RequestTimeout: 408,
  AlreadyExists: 409,
  Conflict: 409,
  Gone: 410,
  Expired: 410,
  RequestEntityTooLarge: 413,
  UnsupportedMediaType: 415,
  ExpectationFailed: 417,
  Invalid: 422,
  TooManyRequests: 429,
  RequestHeaderFieldsTooLarge: 431,
  InternalError: 500,
  ServerTimeout: 500,
  NotImplemented: 501,
  ServiceUnavailable: 503,
  Timeout: 504,
}) satisfies Record<ApiErrorReason, number>

export function httpCodeOf(reason: ApiErrorReason): number {
  return HTTP_CODES[reason]
}

/** The HTTP code of an error. */
export function httpCodeOfError({ code, details }: Pick<ApiError, 'code' | 'details'>): number {
  return details.chosen?.code ?? HTTP_CODES[code]
}

/** The Status body of a failed call. Also the object of a watch's ERROR event. */
export function statusOf(error: ApiError): JsonObject {
  const details = detailsOf(error.details)
  const reason = error.details.chosen?.reason ?? error.code
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: error.details.continueToken ? { continue: error.details.continueToken } : {},
    status: 'Failure',
    message: error.message,
    ...(reason === '' ? {} : { reason }),
    ...(Object.keys(details).length === 0 ? {} : { details }),
    code: httpCodeOfError(error),
  }
}

/** The Status body of a successful call that has no object to return. */
export function successStatus(code: 200 | 201): JsonObject {
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code }
}

/**
 * The Status body of a delete that does not return the object. `kind` is the plural, as in
 * upstream.
 */
export function deletedStatus(of: {
  readonly name: string
  readonly group: string
  readonly resource: string
  readonly uid: string
}): JsonObject {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: detailsOf({ name: of.name, group: of.group, kind: of.resource, uid: of.uid }),
  }
}

/** The Status body of a deletion of a collection. */
export function deletedCollectionStatus(of: {
  readonly group: string
  readonly resource: string
}): JsonObject {
  return {
    kind: 'Status',
    apiVersion: 'v1',
    metadata: {},
    status: 'Success',
    details: detailsOf({ group: of.group, kind: of.resource }),
    code: 200,
  }
}

function detailsOf(details: ApiErrorDetails): JsonObject {
  const members: [string, Json][] = []
  if (details.name) members.push(['name', details.name])
  if (details.group) members.push(['group', details.group])
  if (details.kind) members.push(['kind', details.kind])
  if (details.uid) members.push(['uid', details.uid])
  if (details.causes && details.causes.length > 0) members.push(['causes', details.causes.map(causeOf)])
  if (details.retryAfterSeconds) members.push(['retryAfterSeconds', details.retryAfterSeconds])
  return Object.fromEntries(members)
}

function causeOf(cause: ApiErrorCause): JsonObject {
  return {
    ...(cause.reason === '' ? {} : { reason: cause.reason }),
    ...(cause.message === '' ? {} : { message: cause.message }),
    ...(cause.field === '' ? {} : { field: cause.field }),
  }
}
