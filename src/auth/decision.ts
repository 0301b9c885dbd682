import type { UserInfo } from '../api/metadata/object.ts'
import type { Action } from '../api/action.ts'
import type { PolicyRule } from './rules.ts'

export type Decision =
  /** `reason` is for the audit log. Unset: no reason is known. */
  | { readonly kind: 'allow'; readonly reason?: string }
  | { readonly kind: 'deny'; readonly reason: string }
  | { readonly kind: 'no-opinion'; readonly reason: string }

/**
 * An authorization mode. Synchronous where possible; a promise only when it must ask another
 * process.
 */
export type Authorizer = {
  readonly name: string
  readonly authorize: (user: UserInfo, action: Action) => Decision | Promise<Decision>
  /**
   * Returns what it allows this user in a namespace and outside of namespaces. Unset: it cannot
   * list its rules.
   */
  readonly rulesOf?: (user: UserInfo, namespace: string) => RuleList
}

export type RuleList = {
  readonly rules: readonly PolicyRule[]
  /** Names of modes that cannot list their rules. */
  readonly unlisted: readonly string[]
}

export const allowed: Decision = Object.freeze({ kind: 'allow' })
export const noOpinion: Decision = Object.freeze({ kind: 'no-opinion', reason: '' })
