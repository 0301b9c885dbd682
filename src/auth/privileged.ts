import { allowed, noOpinion } from './decision.ts'
import type { Authorizer } from './decision.ts'
import { alwaysAllow } from './always.ts'
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
  rulesOf: (user, namespace) =>
    user.groups.includes(GROUP_MASTERS) ? (alwaysAllow.rulesOf?.(user, namespace) ?? nothing) : nothing,
} satisfies Authorizer)

const nothing = { rules: [], untold: [] }

/**
 * Allows paths to everyone, such as health checks, which load balancers read without credentials
 * even before this member has any state.
 *
 * @param paths whole, or ending in `*`, as in `--authorization-always-allow-paths`
 * @source apiserver `pkg/authorization/path/path.go`
 */
export function alwaysAllowedPaths(paths: readonly string[]): Authorizer {
  const whole = new Set(paths.filter((path) => !path.endsWith('*')))
  const prefixes = paths.filter((path) => path.endsWith('*')).map((path) => path.slice(0, -1))
  return {
    name: 'always-allowed-paths',
    authorize: (_user, action) => {
      if (action.kind !== 'path') return noOpinion
      const { path } = action
      return whole.has(path) || prefixes.some((prefix) => path.startsWith(prefix)) ? allowed : noOpinion
    },
    rulesOf: () => nothing,
  }
}
