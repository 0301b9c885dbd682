import { objectMember, objectsMember, textMember, textsMember } from '../../api/json.ts'
import type { JsonObject } from '../../api/json.ts'

/**
 * One permission of a role. All lists must match; an empty list matches nothing, except for names.
 */
export type PolicyRule = {
  readonly verbs: readonly string[]
  readonly apiGroups?: readonly string[]
  /**
   * `pods`; `pods/log`; `*` for all resources and subresources; or an asterisk, a slash and a
   * subresource: that subresource of all resources.
   */
  readonly resources?: readonly string[]
  /** Empty: any. Otherwise requests without a name do not match. */
  readonly resourceNames?: readonly string[]
  /** Paths that are not resources; a final `*` matches any rest. */
  readonly nonResourceURLs?: readonly string[]
}

export type RoleReference = { readonly kind: 'Role' | 'ClusterRole'; readonly name: string }

/** Returns the rules of a Role or a ClusterRole. */
export function rulesIn(role: JsonObject): readonly PolicyRule[] {
  return objectsMember(role, 'rules').map((rule) => ({
    verbs: textsMember(rule, 'verbs'),
    apiGroups: textsMember(rule, 'apiGroups'),
    resources: textsMember(rule, 'resources'),
    resourceNames: textsMember(rule, 'resourceNames'),
    nonResourceURLs: textsMember(rule, 'nonResourceURLs'),
  }))
}

/** Returns the role that a binding grants. */
export function roleReference(binding: JsonObject): RoleReference {
  const reference = objectMember(binding, 'roleRef')
  const kind = textMember(reference, 'kind') === 'Role' ? 'Role' : 'ClusterRole'
  return { kind, name: textMember(reference, 'name') }
}
