import { ApiError } from './api-error.ts'
import type { ApiErrorDetails } from './api-error.ts'

/**
 * One constructor per kind of error, with upstream's messages: clients and scripts match on them.
 *
 * @source apimachinery `pkg/api/errors/errors.go`
 */

export type GroupResource = { readonly group: string; readonly resource: string }

/**
 * @param name from the request; quoted up to 256 characters, because no object has a longer one
 */
export function notFound(of: GroupResource, name: string): ApiError {
  const quoted = name.length <= 256 ? name : [...name].slice(0, 256).join('')
  return new ApiError('NotFound', `${spell(of)} ${JSON.stringify(quoted)} not found`, about(of, quoted))
}

/** The path matches no resource. */
export function pathNotFound(): ApiError {
  return new ApiError('NotFound', 'the server could not find the requested resource')
}

export function alreadyExists(of: GroupResource, name: string): ApiError {
  return new ApiError('AlreadyExists', `${spell(of)} ${JSON.stringify(name)} already exists`, about(of, name))
}

/** All names that were generated are in use: a retry generates others. @param name the prefix */
export function generateNameConflict(of: GroupResource, name: string): ApiError {
  const message =
    `${spell(of)} ${JSON.stringify(name)} already exists, ` +
    'the server was not able to generate a unique name for the object'
  return new ApiError('AlreadyExists', message, { ...about(of, name), retryAfterSeconds: 1 })
}

export function conflict(of: GroupResource, name: string, why: string): ApiError {
  const message = `Operation cannot be fulfilled on ${spell(of)} ${JSON.stringify(name)}: ${why}`
  return new ApiError('Conflict', message, about(of, name))
}

/**
 * The object, or another one that the write depends on, has changed since the version that the
 * write is based on.
 */
export function modifiedConflict(of: GroupResource, name: string): ApiError {
  return conflict(
    of,
    name,
    'the object has been modified; please apply your changes to the latest version and try again',
  )
}

/** A write or delete named another uid than the stored one. */
export function uidConflict(
  of: GroupResource,
  name: string,
  uids: { readonly wanted: string; readonly stored: string },
): ApiError {
  const why = `Precondition failed: UID in precondition: ${uids.wanted}, UID in object meta: ${uids.stored}`
  return conflict(of, name, why)
}

/** A delete named another resourceVersion than the stored one. */
export function revisionConflict(
  of: GroupResource,
  name: string,
  revisions: { readonly wanted: string; readonly stored: string },
): ApiError {
  const why =
    `Precondition failed: ResourceVersion in precondition: ${revisions.wanted}, ` +
    `ResourceVersion in object meta: ${revisions.stored}`
  return conflict(of, name, why)
}

/** @param name empty: the collection */
export function forbidden(of: GroupResource, name: string, why: string): ApiError {
  const resource = spell(of)
  let message = `${resource} ${JSON.stringify(name)} is forbidden: ${why}`
  if (resource === '') message = `forbidden: ${why}`
  else if (name === '') message = `${resource} is forbidden: ${why}`
  return new ApiError('Forbidden', message, about(of, name))
}

export function unauthorized(message = 'Unauthorized'): ApiError {
  return new ApiError('Unauthorized', message)
}

export function badRequest(message: string, options?: { readonly cause?: unknown }): ApiError {
  return new ApiError('BadRequest', message, {}, options)
}

export function methodNotSupported(of: GroupResource, action: string): ApiError {
  const message = `${action} is not supported on resources of kind ${JSON.stringify(spell(of))}`
  return new ApiError('MethodNotAllowed', message, about(of, ''))
}

/** @param allow the methods that the resource has */
export function methodNotAllowed(allow: readonly string[]): ApiError {
  const message = 'the server does not allow this method on the requested resource'
  return new ApiError('MethodNotAllowed', message, { allow })
}

export function notAcceptable(accepted: readonly string[]): ApiError {
  const message = `only the following media types are accepted: ${accepted.join(', ')}`
  return new ApiError('NotAcceptable', message)
}

export function unsupportedMediaType(accepted: readonly string[]): ApiError {
  const message =
    'the body of the request was in an unknown format - accepted media types include: ' + accepted.join(', ')
  return new ApiError('UnsupportedMediaType', message)
}

/** @param what such as `limit is 3145728` */
export function tooLarge(what: string): ApiError {
  return new ApiError('RequestEntityTooLarge', `Request entity is too large: ${what}`)
}

/** The call did not finish in time. Its outcome may be unknown: the error has no time to retry. */
export function timeout(what: string): ApiError {
  return new ApiError('Timeout', `Timeout: ${what}`)
}

/** The requested revision has not been reached by this member. The read can be repeated safely. */
export function tooLargeResourceVersion(wanted: number | bigint, current: number | bigint): ApiError {
  const message = `Timeout: Too large resource version: ${wanted}, current: ${current}`
  return new ApiError('Timeout', message, {
    causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version', field: '' }],
    retryAfterSeconds: 1,
  })
}

export function tooManyRequests(
  retryAfterSeconds: number,
  message = 'Too many requests, please try again later.',
): ApiError {
  return new ApiError('TooManyRequests', message, { retryAfterSeconds })
}

/** @param details a time to retry only if the call certainly had no effect */
export function serviceUnavailable(message: string, details: ApiErrorDetails = {}): ApiError {
  return new ApiError('ServiceUnavailable', message, details)
}

/** The `reason` of the cause of `conversionFailed`. */
export const CONVERSION_FAILED = 'ConversionWebhookFailed'

/**
 * Objects of a custom kind are not converted, because its webhook failed.
 *
 * @param message that of upstream
 * @param definition name of the definition of the kind
 */
export function conversionFailed(
  of: GroupResource,
  name: string,
  { message, definition }: { readonly message: string; readonly definition: string },
): ApiError {
  const cause = {
    reason: CONVERSION_FAILED,
    message: `the webhook of customresourcedefinition ${definition} did not convert the object`,
    field: 'spec.conversion.webhook',
  }
  return new ApiError('InternalError', message, { ...about(of, name), causes: [cause] })
}

export function gone(message: string): ApiError {
  return new ApiError('Gone', message)
}

/** The requested history has been compacted: list again. */
export function expired(message: string): ApiError {
  return new ApiError('Expired', message)
}

/** @param instead a token that continues at the newest version */
export function expiredContinueToken(instead: string): ApiError {
  const message =
    'The provided continue parameter is too old to display a consistent list result. ' +
    'You can start a new list without the continue parameter, ' +
    'or use the continue token in this response to retrieve the remainder of the results. ' +
    'Continuing with the provided token results in an inconsistent list - ' +
    'objects that were created, modified, or deleted between the time the first chunk was returned ' +
    'and now may show up in the list.'
  return new ApiError('Expired', message, { continueToken: instead })
}

/** @param message about the failure, safe to show to the caller */
export function internal(message: string, options?: { readonly cause?: unknown }): ApiError {
  const details: ApiErrorDetails = { causes: [{ reason: '', message, field: '' }] }
  return new ApiError('InternalError', `Internal error occurred: ${message}`, details, options)
}

function spell(of: GroupResource): string {
  return of.group === '' ? of.resource : `${of.resource}.${of.group}`
}

function about(of: GroupResource, name: string): ApiErrorDetails {
  return {
    ...(name === '' ? {} : { name }),
    ...(of.group === '' ? {} : { group: of.group }),
    ...(of.resource === '' ? {} : { kind: of.resource }),
  }
}
