import type { Names } from '../api/metadata/names.ts'
import { struct } from '../api/schema/build.ts'
import type { ResourceDefinition } from '../registry/kinds/definition.ts'
import { bindingBasics, bindingMembers } from './rbac/role-bindings.ts'

/** Grants a cluster role to subjects in the whole cluster. @source spec 5.7 */
export function clusterRoleBindingDefinition(names: Names): ResourceDefinition {
  return Object.freeze({
    ...bindingBasics(names, { roleKinds: ['ClusterRole'], namespaced: false }),
    kind: 'ClusterRoleBinding',
    plural: 'clusterrolebindings',
    singular: 'clusterrolebinding',
    schema: clusterRoleBindingSchema,
  } satisfies ResourceDefinition)
}

const clusterRoleBindingSchema = struct(
  'rbac.v1.ClusterRoleBinding',
  'Grants a ClusterRole in the whole cluster.',
  bindingMembers,
)
