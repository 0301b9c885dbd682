import { everyRule } from './always.ts'
import { allowed, noOpinion } from './decision.ts'
import type { Authorizer } from './decision.ts'
import { GROUP_MASTERS } from './user.ts'

/**
 * Allows everything to `system:masters`, whatever roles are stored: a cluster without roles, or
 * with wrong ones, can be repaired.
 *
 * @source apiserver `pkg/authorization/authorizerfactory/builtin.go`
 */
export const privilegedGroup: Authorizer = Object.freeze({
  name: 'privileged-group',
  authorize: (user) => (user.groups.includes(GROUP_MASTERS) ? allowed : noOpinion),
  rulesOf: (user) => ({ rules: user.groups.includes(GROUP_MASTERS) ? everyRule : [], unlisted: [] }),
} satisfies Authorizer)
