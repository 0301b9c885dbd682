import type { Action } from '../../api/action.ts'
import type { UserInfo } from '../../api/object.ts'

export type Verdict = {
  readonly allowed: boolean
  /** Nobody else is asked. Not allowed and not denied: nobody had anything to say. */
  readonly denied: boolean
  readonly reason: string
}

/** What a user may do, as far as that can be listed. */
export type KnownRules = {
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

export type Recognized =
  | { readonly kind: 'user'; readonly user: UserInfo; readonly audiences: readonly string[] }
  | { readonly kind: 'nobody'; readonly why: string }

/** What this server goes by when it is asked itself, for those who ask on behalf of others. `src/auth` fills it. */
export interface Reviewers {
  mayDo(user: UserInfo, action: Action): Verdict | Promise<Verdict>
  rulesOf(user: UserInfo, namespace: string): KnownRules
  /** @param audiences of which the token has to be meant for one; empty: for this server */
  recognize(token: string, audiences: readonly string[]): Recognized | Promise<Recognized>
}
