import type { Action } from '../../api/action.ts'
import type { UserInfo } from '../../api/metadata/object.ts'
import type { PolicyRule } from './policy-rules.ts'

export type AccessDecision = {
  readonly allowed: boolean
  /** A denial is final. Neither allowed nor denied: no authorizer had an opinion. */
  readonly denied: boolean
  readonly reason: string
}

/** The permissions of a user, as far as they can be listed. */
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
  /** Why the rules are incomplete; empty: they are complete. */
  readonly missing: string
}

export type TokenReviewResult =
  | { readonly kind: 'user'; readonly user: UserInfo; readonly audiences: readonly string[] }
  | { readonly kind: 'nobody'; readonly why: string }

/**
 * Authentication and authorization of this server, for reviews that ask about other users.
 * Implemented by `src/auth`.
 */
export interface AccessReviewer {
  authorize(user: UserInfo, action: Action): AccessDecision | Promise<AccessDecision>
  rulesOf(user: UserInfo, namespace: string): UserRules
  /** @param audiences accepted audiences of the token; empty: that of this server */
  authenticate(token: string, audiences: readonly string[]): TokenReviewResult | Promise<TokenReviewResult>
}

/** Prevents users from granting permissions that they lack. Implemented by `src/auth`. */
export interface GrantCheck {
  /**
   * Returns why a user may not grant rules.
   *
   * @param namespace where they are to apply; empty: in the whole cluster
   * @returns null: the user has them
   */
  lacking(user: UserInfo, namespace: string, rules: readonly PolicyRule[]): string | null
}
