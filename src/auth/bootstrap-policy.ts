import type { Names } from '../api/metadata/names.ts'
import { defaultPolicy } from './bootstrap/default-policy.ts'
import type { ClusterRole, ClusterRoleBinding } from './static-rules.ts'

/**
 * The default roles that count on a member even before it has any state, and whatever is stored:
 * without them no user could reach a member to repair it.
 */
const ALWAYS_GRANTED: readonly string[] = [
  'cluster-admin',
  'system:discovery',
  'system:basic-user',
  'system:public-info-viewer',
  'system:monitoring',
  'system:joining',
]

/** Returns the roles and bindings that are built in. All default ones are stored. */
export function bootstrapPolicy(names: Names): {
  readonly roles: readonly ClusterRole[]
  readonly bindings: readonly ClusterRoleBinding[]
} {
  const { roles, bindings } = defaultPolicy(names)
  return {
    roles: roles.filter(({ name }) => ALWAYS_GRANTED.includes(name)),
    bindings: bindings.filter(({ role }) => ALWAYS_GRANTED.includes(role)),
  }
}
