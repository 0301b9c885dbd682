import { credentialLimits } from './limits.ts'

/** Returns why a header cannot have this token, without the token; null: it can. */
export function tokenProblem(token: string): string | null {
  if (token === '') return 'is empty'
  if (token.length > credentialLimits.tokenCharactersMax) {
    return `is longer than ${credentialLimits.tokenCharactersMax} characters`
  }
  return /^[\x20-\x7e]+$/.test(token) ? null : 'has characters that a header cannot have'
}
