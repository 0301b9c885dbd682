import { ApiError } from '../errors/api-error.ts'
import { badRequest } from '../errors/standard-errors.ts'

/** The error for an invalid patch: 400. */
export function malformedPatch(why: string): ApiError {
  return badRequest(why)
}

/**
 * The error for a well-formed patch that does not fit the current object: 422.
 *
 * @source apiserver `pkg/endpoints/handlers/patch.go`, whose message ends before the colon
 */
export function patchDoesNotApply(why: string): ApiError {
  return new ApiError('Invalid', `the server rejected our request due to an error in our request: ${why}`)
}
