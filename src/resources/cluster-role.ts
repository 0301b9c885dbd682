import type { Findings } from '../api/errors/findings.ts'
import { required } from '../api/errors/field-error.ts'
import { objectMember, objectsMember } from '../api/json.ts'
import { checkPathSegment } from '../api/metadata/name-rules.ts'
import type { Names } from '../api/metadata/names.ts'
import { listOf, maybe, struct } from '../api/schema/build.ts'
import type { AnyObject, ResourceDefinition } from '../registry/kinds/definition.ts'
import { checkRules, policyRuleSchema, roleGroup } from './rbac/policy-rule.ts'
import { selectorSchema } from './common/selector.ts'

/**
 * Permissions in the whole cluster, or in one namespace, depending on the kind of the binding.
 *
 * @source spec 5.7
 */
export function clusterRoleDefinition(names: Names): ResourceDefinition {
  return Object.freeze({
    group: roleGroup(names),
    version: 'v1',
    kind: 'ClusterRole',
    plural: 'clusterroles',
    singular: 'clusterrole',
    shortNames: [],
    categories: [],
    scope: 'Cluster',
    verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
    schema: clusterRoleSchema,
    validateName: checkPathSegment,
    deleteReturnsObject: false,
    putCreates: true,
    hooks: {
      validate: (object, found) => {
        checkRules(object, false, found)
        checkAggregation(object, found)
      },
    },
    subresources: [],
  } satisfies ResourceDefinition)
}

const aggregationRuleSchema = struct('rbac.v1.AggregationRule', 'Rule that aggregates other ClusterRoles.', {
  clusterRoleSelectors: listOf(
    1,
    selectorSchema,
    'Selectors of the ClusterRoles whose rules are aggregated.',
  ),
})

const clusterRoleSchema = struct('rbac.v1.ClusterRole', 'Permissions in the cluster, or in any namespace.', {
  rules: listOf(2, policyRuleSchema, 'Permissions of the role; each rule adds to the others.', {
    always: true,
  }),
  aggregationRule: maybe(3, aggregationRuleSchema, 'Aggregation of rules from other ClusterRoles.'),
})

function checkAggregation(object: AnyObject, found: Findings): void {
  if (!Object.hasOwn(object, 'aggregationRule')) return
  const field = 'aggregationRule.clusterRoleSelectors'
  const selectors = objectsMember(objectMember(object, 'aggregationRule'), 'clusterRoleSelectors')
  if (selectors.length > 0) return
  found.add(required(field, 'at least one clusterRoleSelector required if aggregationRule is non-nil'))
}
