import { allowed, noOpinion } from './decision.ts'
import type { Authorizer, Decision } from './decision.ts'
import { matchesPath } from './rules.ts'
import type { PolicyRule } from './rules.ts'

/** The rules that allow every action. */
export const everyRule: readonly PolicyRule[] = Object.freeze([
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
])

/** Allows everything to everyone: for machines that no other user can reach. */
export const alwaysAllow: Authorizer = Object.freeze({
  name: 'AlwaysAllow',
  authorize: () => allowed,
  rulesOf: () => ({ rules: everyRule, unlisted: [] }),
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
  rulesOf: () => ({ rules: [], unlisted: [] }),
})

/**
 * Allows paths to everyone, such as health checks, which load balancers read without credentials
 * even before this member has any state.
 *
 * @param paths whole, or ending in `*`, as in `--authorization-always-allow-paths`
 * @source apiserver `pkg/authorization/path/path.go`
 */
export function alwaysAllowedPaths(paths: readonly string[]): Authorizer {
  return {
    name: 'always-allowed-paths',
    authorize: (_user, action) =>
      action.kind === 'path' && matchesPath(paths, action.path) ? allowed : noOpinion,
    rulesOf: () => ({ rules: [], unlisted: [] }),
  }
}
