import { allowed } from './decision.ts'
import type { Authorizer, Decision } from './decision.ts'

/** Everybody may do everything: for machines nobody else can reach. */
export const alwaysAllow: Authorizer = Object.freeze({
  name: 'AlwaysAllow',
  authorize: () => allowed,
  rulesOf: () => ({
    rules: [
      { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
      { verbs: ['*'], nonResourceURLs: ['*'] },
    ],
    untold: [],
  }),
})

const everythingForbidden: Decision = Object.freeze({
  kind: 'no-opinion',
  reason: 'Everything is forbidden.',
})

/**
 * Allows nobody anything. As upstream has it, other modes of the list may still allow: alone it refuses all,
 * because what no mode allows is refused.
 *
 * @source apiserver `pkg/authorization/authorizerfactory/builtin.go`
 */
export const alwaysDeny: Authorizer = Object.freeze({
  name: 'AlwaysDeny',
  authorize: () => everythingForbidden,
  rulesOf: () => ({ rules: [], untold: [] }),
})
