import type { UserInfo } from '../api/object.ts'

/** What somebody may want to do, as a review describes it. Verbs are those of spec 5.7. */
export type Deed =
  | {
      readonly kind: 'resource'
      readonly verb: string
      /** Empty: the core group. */
      readonly group: string
      readonly version: string
      readonly resource: string
      readonly subresource: string
      /** Empty: cluster scope, or all namespaces. */
      readonly namespace: string
      /** Empty: the collection. */
      readonly name: string
    }
  | { readonly kind: 'path'; readonly verb: string; readonly path: string }

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
  mayDo(user: UserInfo, deed: Deed): Verdict | Promise<Verdict>
  rulesOf(user: UserInfo, namespace: string): KnownRules
  /** @param audiences of which the token has to be meant for one; empty: for this server */
  recognize(token: string, audiences: readonly string[]): Recognized | Promise<Recognized>
}
