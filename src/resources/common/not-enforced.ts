/**
 * The warning for a part of an object that is stored and returned, but that the server does not act
 * on yet.
 *
 * @param field path of the part; empty: the whole object
 * @param words what does not happen
 */
export function notEnforcedYet(field: string, words: string): string {
  return `${field === '' ? '' : `${field}: `}stored but not enforced by this release: ${words}`
}
