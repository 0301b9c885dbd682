import type { VerbRequest } from './verb.ts'

/** Behaviours that an operator may switch off. @source spec 9.7 */
export type RegistrySwitches = {
  /** Pages: off, `limit` and `continue` mean nothing. */
  readonly listChunking: boolean
  /** A page says how many objects follow it. */
  readonly remainingItemCount: boolean
  /** Off: `fieldValidation` means nothing, and unknown or doubled fields are dropped in silence. */
  readonly fieldValidation: boolean
}

export const allSwitchesOn: RegistrySwitches = Object.freeze({
  listChunking: true,
  remainingItemCount: true,
  fieldValidation: true,
})

/** The request as if its query did not say what means nothing here. */
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
