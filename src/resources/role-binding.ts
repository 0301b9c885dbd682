import type { Names } from '../api/metadata/names.ts'
import { struct } from '../api/schema/build.ts'
import type { ResourceDefinition } from '../registry/kinds/definition.ts'
import { bindingBasics, bindingMembers } from './rbac/role-bindings.ts'

/** Grants a role within one namespace. @source spec 5.7 */
export function roleBindingDefinition(names: Names): ResourceDefinition {
  return Object.freeze({
    ...bindingBasics(names, { roleKinds: ['Role', 'ClusterRole'], namespaced: true }),
    kind: 'RoleBinding',
    plural: 'rolebindings',
    singular: 'rolebinding',
    schema: roleBindingSchema,
  } satisfies ResourceDefinition)
}

const roleBindingSchema = struct('rbac.v1.RoleBinding', 'Grants a role within one namespace.', bindingMembers)
