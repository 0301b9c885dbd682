import { present } from '../../base/assert.ts'
import type { UserInfo } from '../api/metadata/object.ts'
import { subjectIs } from './rules.ts'
import type { PolicyRule, RuleSource, Subject } from './rules.ts'

export type ClusterRole = { readonly name: string; readonly rules: readonly PolicyRule[] }

export type ClusterRoleBinding = {
  readonly name: string
  readonly role: string
  readonly subjects: readonly Subject[]
}

/**
 * Rules that never change.
 * @param bindings refer only to roles of the list
 */
export function staticRules(of: {
  readonly roles: readonly ClusterRole[]
  readonly bindings: readonly ClusterRoleBinding[]
}): RuleSource {
  const roles = new Map(of.roles.map((role) => [role.name, role.rules]))
  const granted = of.bindings.map((binding) => ({
    subjects: binding.subjects,
    rules: present(roles.get(binding.role), `the role ${binding.role} of binding ${binding.name} exists`),
  }))
  return {
    version: 1,
    clusterGrants: (user: UserInfo) =>
      granted.filter(({ subjects }) => subjects.some((subject) => subjectIs(subject, user))),
    namespaceGrants: () => [],
  }
}
