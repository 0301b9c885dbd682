import type { VerbRequest } from './verb.ts'

/** Features that an operator may disable. @source spec 9.7 */
export type RegistrySwitches = {
  /** Paging. Off: `limit` and `continue` are ignored. */
  readonly listChunking: boolean
  /** Pages state how many objects follow. */
  readonly remainingItemCount: boolean
  /** Off: `fieldValidation` is ignored, and unknown or duplicate fields are dropped silently. */
  readonly fieldValidation: boolean
}

export const allSwitchesOn: RegistrySwitches = Object.freeze({
  listChunking: true,
  remainingItemCount: true,
  fieldValidation: true,
})

/** Returns the request without the query parameters that are disabled. */
export function applySwitches(request: VerbRequest, switches: RegistrySwitches): VerbRequest {
  const { listChunking, fieldValidation } = switches
  if (listChunking && fieldValidation) return request
  const query = new Map(request.query)
  if (!listChunking) {
    query.delete('limit')
    query.delete('continue')
  }
  if (!fieldValidation) query.set('fieldValidation', ['Ignore'])
  return { ...request, query }
}
