/**
 * Objects of a run carry a label that follows from the write that made them, so that a watch of one side shows objects that
 * come and go without being created or deleted, and whoever knows the writes knows what it had to show.
 */
export type Side = 'even' | 'odd'

export const sideLabel = 'verify-side'

/** @param token of the write */
export function sideOf(token: string): Side {
  return token.charCodeAt(token.length - 1) % 2 === 1 ? 'odd' : 'even'
}
