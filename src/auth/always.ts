import { allowed } from './decision.ts'
import type { Authorizer, Decision } from './decision.ts'

/** Allows everything to everyone: for machines that no other user can reach. */
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
 * Has no opinion on anything. As upstream has it, other modes of the list may still allow: alone it
 * rejects everything, because what no mode allows is rejected.
 *
 * @source apiserver `pkg/authorization/authorizerfactory/builtin.go`
 */
export const alwaysDeny: Authorizer = Object.freeze({
  name: 'AlwaysDeny',
  authorize: () => everythingForbidden,
  rulesOf: () => ({ rules: [], untold: [] }),
})
