import type { Findings } from '../../api/errors/findings.ts'
import { invalid, required } from '../../api/errors/field-error.ts'
import { objectsMember, textsMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import { struct, texts } from '../../api/schema/build.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'

/** Parts shared by both kinds of roles. @source spec 5.7; upstream `pkg/apis/rbac/validation` */

export const policyRuleSchema = struct(
  'rbac.v1.PolicyRule',
  'A rule: verbs that are allowed on resources or paths.',
  {
    verbs: texts(1, 'Allowed verbs; * means all.', { required: true }),
    apiGroups: texts(2, 'API groups; an empty string means the core group, * all groups.'),
    resources: texts(3, 'Resources, such as pods or pods/log; * means all.'),
    resourceNames: texts(4, 'Names of objects; empty means all objects.'),
    nonResourceURLs: texts(5, 'URL paths outside of the resources; a trailing * matches any suffix.'),
  },
)

/** The API group of roles and bindings. */
export function roleGroup(names: Names): string {
  return names.group('rbac.authorization')
}

/** @param namespaced the rules apply in one namespace, so they have no non-resource URLs */
export function checkRules(object: AnyObject, namespaced: boolean, found: Findings): void {
  for (const [at, rule] of objectsMember(object, 'rules').entries())
    checkRule(rule, `rules[${at}]`, namespaced, found)
}

function checkRule(rule: JsonObject, path: string, namespaced: boolean, found: Findings): void {
  const urls = textsMember(rule, 'nonResourceURLs')
  const [groups, resources, resourceNames] = ['apiGroups', 'resources', 'resourceNames'].map((name) =>
    textsMember(rule, name),
  ) as [readonly string[], readonly string[], readonly string[]]
  if (urls.length > 0) {
    const field = `${path}.nonResourceURLs`
    if (namespaced) {
      found.add(invalid(field, urls, 'namespaced rules cannot apply to non-resource URLs'))
      return
    }
    if (groups.length + resources.length + resourceNames.length === 0) return
    found.add(invalid(field, urls, 'rules cannot apply to both regular resources and non-resource URLs'))
    return
  }
  if (groups.length === 0) {
    found.add(required(`${path}.apiGroups`, 'resource rules must supply at least one api group'))
  }
  if (resources.length === 0) {
    found.add(required(`${path}.resources`, 'resource rules must supply at least one resource'))
  }
}
