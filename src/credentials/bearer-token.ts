import { credentialLimits } from './limits.ts'

/**
 * Returns why a token cannot be sent in a header; null: it can. The text does not contain the
 * token.
 */
export function tokenProblem(token: string): string | null {
  if (token === '') return 'is empty'
  if (token.length > credentialLimits.tokenCharactersMax) {
    return `is longer than ${credentialLimits.tokenCharactersMax} characters`
  }
  return /^[\x20-\x7e]+$/.test(token) ? null : 'has characters that a header cannot have'
}
