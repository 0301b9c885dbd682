import type { JsonObject } from '../../api/json.ts'
import type { Names } from '../../api/metadata/names.ts'
import type { AnyObject } from '../../registry/kinds/definition.ts'
import type { PolicyRule, Subject } from '../rules.ts'
import type { DefaultClusterRole, DefaultPolicy } from './default-policy.ts'

/** An object that every cluster has. */
export type PolicyObject = {
  readonly plural: 'clusterroles' | 'clusterrolebindings' | 'roles' | 'rolebindings'
  readonly object: AnyObject
}

/** Returns the objects of a policy; roles come before the bindings that refer to them. */
export function policyObjects(names: Names, policy: DefaultPolicy): readonly PolicyObject[] {
  const group = names.group('rbac.authorization')
  const make = (kind: string, metadata: JsonObject, rest: JsonObject): AnyObject => ({
    apiVersion: `${group}/v1`,
    kind,
    metadata: {
      ...metadata,
      labels: { [names.rbac.bootstrappingLabel]: 'rbac-defaults', ...(metadata['labels'] as JsonObject) },
      annotations: { [names.rbac.autoupdateAnnotation]: 'true' },
    } as AnyObject['metadata'],
    ...rest,
  })
  const bound = (of: { role: string; subjects: readonly Subject[] }, kind: string): JsonObject => ({
    roleRef: { apiGroup: group, kind, name: of.role },
    ...(of.subjects.length === 0 ? {} : { subjects: of.subjects.map((one) => subjectObject(one, group)) }),
  })
  return [
    ...policy.roles.map((role) => ({
      plural: 'clusterroles' as const,
      object: make(
        'ClusterRole',
        { name: role.name, labels: aggregationLabels(role, group) },
        role.isAggregated ? aggregation(role.name, group) : { rules: role.rules.map(ruleObject) },
      ),
    })),
    ...policy.namespacedRoles.map(({ name, namespace, rules }) => ({
      plural: 'roles' as const,
      object: make('Role', { name, namespace }, { rules: rules.map(ruleObject) }),
    })),
    ...policy.bindings.map((binding) => ({
      plural: 'clusterrolebindings' as const,
      object: make('ClusterRoleBinding', { name: binding.name }, bound(binding, 'ClusterRole')),
    })),
    ...policy.namespacedBindings.map((binding) => ({
      plural: 'rolebindings' as const,
      object: make(
        'RoleBinding',
        { name: binding.name, namespace: binding.namespace },
        bound(binding, 'Role'),
      ),
    })),
  ]
}

function aggregationLabel(role: string, group: string): string {
  return `${group}/aggregate-to-${role}`
}

function aggregationLabels({ aggregateTo }: DefaultClusterRole, group: string): JsonObject {
  return Object.fromEntries(aggregateTo.map((role) => [aggregationLabel(role, group), 'true']))
}

function aggregation(role: string, group: string): JsonObject {
  const selector = { matchLabels: { [aggregationLabel(role, group)]: 'true' } }
  return { aggregationRule: { clusterRoleSelectors: [selector] }, rules: [] }
}

function ruleObject({ verbs, apiGroups, resources, resourceNames, nonResourceURLs }: PolicyRule): JsonObject {
  return {
    verbs,
    ...(apiGroups === undefined ? {} : { apiGroups }),
    ...(resources === undefined ? {} : { resources }),
    ...(resourceNames === undefined ? {} : { resourceNames }),
    ...(nonResourceURLs === undefined ? {} : { nonResourceURLs }),
  }
}

function subjectObject(subject: Subject, group: string): JsonObject {
  const { kind, name } = subject
  return kind === 'ServiceAccount'
    ? { kind, name, namespace: subject.namespace }
    : { kind, apiGroup: group, name }
}
