import type { UserInfo } from '../api/metadata/object.ts'
import { ANONYMOUS_USER, GROUP_UNAUTHENTICATED } from './user.ts'

/**
 * The user of requests without credentials.
 * @source spec 5 "Anonymous"
 */
export const anonymous: UserInfo = Object.freeze({
  name: ANONYMOUS_USER,
  uid: '',
  groups: Object.freeze([GROUP_UNAUTHENTICATED]),
  extra: Object.freeze({}),
})
