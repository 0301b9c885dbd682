import type { Action } from '../../api/action.ts'
import type { UserInfo } from '../../api/metadata/object.ts'

export type AccessDecision = {
  readonly allowed: boolean
  /** Nobody else is asked. Not allowed and not denied: nobody had anything to say. */
  readonly denied: boolean
  readonly reason: string
}

/** What a user may do, as far as that can be listed. */
export type UserRules = {
  readonly resourceRules: readonly {
    readonly verbs: readonly string[]
    readonly apiGroups: readonly string[]
    readonly resources: readonly string[]
    /** Empty: any. */
    readonly resourceNames: readonly string[]
  }[]
  readonly nonResourceRules: readonly {
    readonly verbs: readonly string[]
    readonly nonResourceURLs: readonly string[]
  }[]
  /** Somebody who is asked too could not tell; empty: this is all. */
  readonly missing: string
}

export type TokenReviewResult =
  | { readonly kind: 'user'; readonly user: UserInfo; readonly audiences: readonly string[] }
  | { readonly kind: 'nobody'; readonly why: string }

/**
 * What this server goes by when it is asked itself, for those who ask on behalf of others.
 * `src/auth` fills it.
 */
export interface AccessReviewer {
  authorize(user: UserInfo, action: Action): AccessDecision | Promise<AccessDecision>
  rulesOf(user: UserInfo, namespace: string): UserRules
  /** @param audiences of which the token has to be meant for one; empty: for this server */
  authenticate(token: string, audiences: readonly string[]): TokenReviewResult | Promise<TokenReviewResult>
}
