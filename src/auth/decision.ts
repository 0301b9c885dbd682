import type { UserInfo } from '../api/object.ts'
import type { Action } from './action.ts'

export type Decision =
  | { readonly kind: 'allow' }
  | { readonly kind: 'deny'; readonly reason: string }
  | { readonly kind: 'no-opinion'; readonly reason: string }

/** One mode. Answers at once when it can; a promise only when it must ask elsewhere. */
export type Authorizer = {
  readonly name: string
  readonly authorize: (user: UserInfo, action: Action) => Decision | Promise<Decision>
}

export const allowed: Decision = Object.freeze({ kind: 'allow' })
export const noOpinion: Decision = Object.freeze({ kind: 'no-opinion', reason: '' })
