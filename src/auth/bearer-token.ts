/**
 * Returns the token of an `Authorization: Bearer` header; null for another scheme or without a
 * token.
 */
export function bearerToken(authorization: string | undefined): string | null {
  if (authorization === undefined) return null
  const header = authorization.trim()
  const space = header.indexOf(' ')
  if (space === -1 || header.slice(0, space).toLowerCase() !== 'bearer') return null
  const rest = header.slice(space + 1)
  const end = rest.indexOf(' ')
  const token = end === -1 ? rest : rest.slice(0, end)
  return token === '' ? null : token
}
