/**
 * Objects carry a label that follows from the token of their last write. A watch that selects one
 * side therefore sees objects enter and leave without being created or deleted, and the expected
 * events follow from the writes.
 */
export type Side = 'even' | 'odd'

export const sideLabel = 'verify-side'

/** @param token of the write */
export function sideOf(token: string): Side {
  return token.charCodeAt(token.length - 1) % 2 === 1 ? 'odd' : 'even'
}
