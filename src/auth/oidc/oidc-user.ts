import type { JWTPayload } from 'jose'
import type { UserInfo } from '../../api/metadata/object.ts'
import { authenticatedUser } from '../user.ts'

/** How the claims of an identity token become a user. */
export type OidcClaims = {
  readonly usernameClaim: string
  readonly usernamePrefix: string
  /** Empty: the groups that tokens name are ignored. */
  readonly groupsClaim: string
  readonly groupsPrefix: string
  /** Claims that a token must have, by name. */
  readonly requiredClaims: ReadonlyMap<string, string>
}

export type OidcUser =
  { readonly kind: 'user'; readonly user: UserInfo } | { readonly kind: 'rejected'; readonly reason: string }

/** @source spec 5.1; apiserver `plugin/pkg/authenticator/token/oidc` */
export function oidcUser(payload: JWTPayload, claims: OidcClaims): OidcUser {
  for (const [name, value] of claims.requiredClaims) {
    if (payload[name] !== value) return rejected(`the token lacks the required claim ${name}`)
  }
  const name = payload[claims.usernameClaim]
  if (typeof name !== 'string' || name === '') {
    return rejected(`the token has no text in the claim ${claims.usernameClaim}`)
  }
  const verified = payload['email_verified']
  if (claims.usernameClaim === 'email' && verified !== undefined && verified !== true) {
    return rejected('the email address of the token is not verified')
  }
  const groups = claims.groupsClaim === '' ? [] : textsIn(payload[claims.groupsClaim])
  if (groups === null) return rejected(`the claim ${claims.groupsClaim} is not a list of texts`)
  return {
    kind: 'user',
    user: authenticatedUser({
      name: `${claims.usernamePrefix}${name}`,
      groups: groups.map((group) => `${claims.groupsPrefix}${group}`),
    }),
  }
}

/**
 * Returns the strings of a claim. As upstream, a single string counts as a list. @returns null:
 * neither
 */
function textsIn(claim: unknown): readonly string[] | null {
  if (claim === undefined) return []
  if (typeof claim === 'string') return [claim]
  if (!Array.isArray(claim)) return null
  const texts = claim.filter((one: unknown) => typeof one === 'string')
  return texts.length === claim.length ? texts : null
}

function rejected(reason: string): OidcUser {
  return { kind: 'rejected', reason }
}
