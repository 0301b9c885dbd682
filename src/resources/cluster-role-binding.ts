import { checkPathSegment } from '../api/name-rules.ts'
import type { Names } from '../api/names.ts'
import { listOf, part, struct } from '../api/schema/build.ts'
import { ageColumn, nameColumn } from '../registry/columns.ts'
import type { ResourceDefinition } from '../registry/definition.ts'
import {
  checkBinding,
  checkSameRole,
  roleColumn,
  roleGroup,
  roleRefSchema,
  subjectColumns,
  subjectSchema,
  withGroups,
} from './parts/rbac.ts'

/** Gives a cluster role to somebody in the whole cluster. @source spec 5.7 */
export function clusterRoleBindingDefinition(names: Names): ResourceDefinition {
  const of = { names, roleKinds: ['ClusterRole'], namespaced: false }
  return Object.freeze({
    group: roleGroup(names),
    version: 'v1',
    kind: 'ClusterRoleBinding',
    plural: 'clusterrolebindings',
    singular: 'clusterrolebinding',
    shortNames: [],
    categories: [],
    scope: 'Cluster',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: clusterRoleBindingSchema,
    validateName: checkPathSegment,
    deleteReturnsObject: false,
    putCreates: true,
    columns: [nameColumn, roleColumn, ageColumn, ...subjectColumns],
    hooks: {
      fillDefaults: (object) => withGroups(object, names),
      validate: (object) => checkBinding(object, of),
      validateUpdate: checkSameRole,
    },
    subresources: [],
  } satisfies ResourceDefinition)
}

const clusterRoleBindingSchema = struct(
  'rbac.v1.ClusterRoleBinding',
  'Gives a cluster role in the whole cluster.',
  {
    subjects: listOf(2, subjectSchema, 'Who is given the role.'),
    roleRef: part(3, roleRefSchema, 'The role; cannot change.', { required: true, always: true }),
  },
)
