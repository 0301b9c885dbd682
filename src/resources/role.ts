import { checkPathSegment } from '../api/metadata/name-rules.ts'
import type { Names } from '../api/metadata/names.ts'
import { listOf, struct } from '../api/schema/build.ts'
import type { ResourceDefinition } from '../registry/kinds/definition.ts'
import { checkRules, policyRuleSchema, roleGroup } from './rbac/policy-rule.ts'

/** Permissions within one namespace; a binding grants them. @source spec 5.7 */
export function roleDefinition(names: Names): ResourceDefinition {
  return Object.freeze({
    group: roleGroup(names),
    version: 'v1',
    kind: 'Role',
    plural: 'roles',
    singular: 'role',
    shortNames: [],
    categories: [],
    scope: 'Namespaced',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: roleSchema,
    validateName: checkPathSegment,
    deleteReturnsObject: false,
    putCreates: true,
    hooks: {
      validate: (object, found) => checkRules(object, true, found),
    },
    subresources: [],
  } satisfies ResourceDefinition)
}

const roleSchema = struct('rbac.v1.Role', 'Permissions within one namespace.', {
  rules: listOf(2, policyRuleSchema, 'Permissions of the role; each rule adds to the others.', {
    always: true,
  }),
})
