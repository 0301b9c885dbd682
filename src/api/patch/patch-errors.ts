import { ApiError } from '../errors/api-error.ts'
import { badRequest } from '../errors/standard-errors.ts'

/** A patch that is no patch: 400. */
export function malformedPatch(why: string): ApiError {
  return badRequest(why)
}

/**
 * A well-formed patch that does not fit the object it met: 422.
 *
 * @source apiserver `pkg/endpoints/handlers/patch.go`, whose message stops at the colon
 */
export function patchDoesNotApply(why: string): ApiError {
  return new ApiError('Invalid', `the server rejected our request due to an error in our request: ${why}`)
}
