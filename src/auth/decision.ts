import type { UserInfo } from '../api/metadata/object.ts'
import type { Action } from '../api/action.ts'
import type { PolicyRule } from './rules.ts'

export type Decision =
  /** @param reason for the audit log; unset: there is nothing to say */
  | { readonly kind: 'allow'; readonly reason?: string }
  | { readonly kind: 'deny'; readonly reason: string }
  | { readonly kind: 'no-opinion'; readonly reason: string }

/** One mode. Answers at once when it can; a promise only when it must ask elsewhere. */
export type Authorizer = {
  readonly name: string
  readonly authorize: (user: UserInfo, action: Action) => Decision | Promise<Decision>
  /** All that it would allow this user in a namespace and beside all namespaces. Unset: it cannot tell. */
  readonly rulesOf?: (user: UserInfo, namespace: string) => RuleList
}

export type RuleList = {
  readonly rules: readonly PolicyRule[]
  /** Names of modes that cannot tell. */
  readonly untold: readonly string[]
}

export const allowed: Decision = Object.freeze({ kind: 'allow' })
export const noOpinion: Decision = Object.freeze({ kind: 'no-opinion', reason: '' })
