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

/** Gives a role to somebody within one namespace. @source spec 5.7 */
export function roleBindingDefinition(names: Names): ResourceDefinition {
  const of = { names, roleKinds: ['Role', 'ClusterRole'], namespaced: true }
  return Object.freeze({
    group: roleGroup(names),
    version: 'v1',
    kind: 'RoleBinding',
    plural: 'rolebindings',
    singular: 'rolebinding',
    shortNames: [],
    categories: [],
    scope: 'Namespaced',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: roleBindingSchema,
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

const roleBindingSchema = struct('rbac.v1.RoleBinding', 'Gives a role within one namespace.', {
  subjects: listOf(2, subjectSchema, 'Who is given the role.'),
  roleRef: part(3, roleRefSchema, 'The role; cannot change.', { required: true, always: true }),
})
