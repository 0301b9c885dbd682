import type { Names } from '../../api/metadata/names.ts'
import type { DefaultPolicy } from './default-policy.ts'
import { defaultPolicy } from './default-policy.ts'

/**
 * Returns the role of processes that join the cluster, and its binding. They apply whatever is
 * stored, so that a cluster can replace a member even after the stored ones were deleted.
 */
export function joiningPolicy(names: Names): Pick<DefaultPolicy, 'roles' | 'bindings'> {
  const { roles, bindings } = defaultPolicy(names)
  return {
    roles: roles.filter(({ name }) => name === JOINING_ROLE),
    bindings: bindings.filter(({ role }) => role === JOINING_ROLE),
  }
}

const JOINING_ROLE = 'system:joining'
