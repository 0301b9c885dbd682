import type { ApiError } from '../api/errors/api-error.ts'
import { forbidden, notFound } from '../api/errors/standard-errors.ts'
import { equalJson, memberOf, objectMember, objectsMember } from '../api/json.ts'
import type { Names } from '../api/metadata/names.ts'
import type { AdmissionRequest } from '../registry/calls/admission.ts'
import { resourceOf } from '../registry/kinds/definition.ts'
import { parseStored } from '../registry/kinds/encode.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'
import type { AccessReviewer, GrantCheck } from '../registry/kinds/access-reviewer.ts'
import { roleReference, rulesIn } from '../registry/kinds/policy-rules.ts'
import type { PolicyRule, RoleReference } from '../registry/kinds/policy-rules.ts'
import { keyOf } from '../store/key.ts'
import type { AdmissionPlugin } from './chain.ts'

export type RoleEscalationDependencies = {
  readonly names: Names
  readonly reviewers: AccessReviewer
  readonly grants: GrantCheck
}

/**
 * To write a role, a user needs all permissions that it grants, or the verb `escalate` on it. To
 * write a binding, a user needs all permissions of its role, or the verb `bind` on that role. To
 * write an aggregated role, which may gather any rules, a user needs all permissions there are, or
 * the verb `escalate` on it.
 *
 * @source spec 5.7; upstream `pkg/registry/rbac/*\/policybased`
 */
export function roleEscalation(dependencies: RoleEscalationDependencies): AdmissionPlugin {
  const group = dependencies.names.group('rbac.authorization')
  return {
    name: 'RoleEscalation',
    // An authorizer may be a webhook.
    callsOut: true,
    // Rules are compared on each evaluation; only the permission is cached for the request.
    concerns: (request) => request.definition.group === group && refusalOf(dependencies, request) !== null,
    validate: async (request) => {
      if (await mayEscalate(dependencies, request)) return
      const refusal = refusalOf(dependencies, request)
      if (refusal !== null) throw refusal
    },
  }
}

/** Returns why the user may not write the object without a special permission; null: they may. */
function refusalOf(
  { names, grants }: RoleEscalationDependencies,
  request: AdmissionRequest,
): ApiError | null {
  const { definition, object, oldObject, operation, context } = request
  if (object === null || (operation !== 'CREATE' && operation !== 'UPDATE')) return null
  if (oldObject !== null && isSameGrant(object, oldObject)) return null
  const { user } = context.request
  const namespace = object.metadata.namespace ?? ''
  const name = object.metadata.name ?? ''
  const refusal = (why: string | null): ApiError | null =>
    why === null ? null : forbidden(resourceOf(definition), name, why)
  switch (definition.kind) {
    case 'Role':
      return refusal(grants.lacking(user, namespace, rulesIn(object)))
    case 'ClusterRole': {
      const why = grants.lacking(user, '', rulesIn(object))
      if (why !== null || (!aggregates(object) && !aggregates(oldObject))) return refusal(why)
      const isAdmin = grants.lacking(user, '', everything) === null
      return refusal(isAdmin ? null : 'must have cluster-admin privileges to use an aggregationRule')
    }
    case 'RoleBinding':
    case 'ClusterRoleBinding': {
      const role = roleReference(object)
      const rules = rulesOfRole(names, request.reads, role, namespace)
      if (rules !== null) return refusal(grants.lacking(user, namespace, rules))
      return notFound(roleResource(names, role), role.name)
    }
    default:
      return null
  }
}

/** @returns null: there is no such role */
function rulesOfRole(
  names: Names,
  reads: AdmissionRequest['reads'],
  role: RoleReference,
  namespace: string,
): readonly PolicyRule[] | null {
  const { group, resource: plural } = roleResource(names, role)
  const key = keyOf({ group, plural, namespace: role.kind === 'Role' ? namespace : '', name: role.name })
  const stored = reads.getOther(key)
  return stored === null ? null : rulesIn(parseStored(stored))
}

const everything: readonly PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
]

/** Checks for the verb `escalate` on a role, or for `bind` on the role of a binding. */
async function mayEscalate(
  { names, reviewers }: RoleEscalationDependencies,
  { definition, object, context }: AdmissionRequest,
): Promise<boolean> {
  if (object === null) return true
  const isRole = definition.kind === 'Role' || definition.kind === 'ClusterRole'
  const kind = definition.kind === 'Role' ? 'Role' : 'ClusterRole'
  const role = isRole ? ({ kind, name: object.metadata.name ?? '' } as const) : roleReference(object)
  const { allowed } = await reviewers.authorize(context.request.user, {
    kind: 'resource',
    verb: isRole ? 'escalate' : 'bind',
    ...{ ...roleResource(names, role), version: '*', subresource: '' },
    namespace: object.metadata.namespace ?? '',
    name: role.name,
  })
  return allowed
}

function roleResource(
  names: Names,
  { kind }: RoleReference,
): { readonly group: string; readonly resource: string } {
  const resource = kind === 'Role' ? 'roles' : 'clusterroles'
  return { group: names.group('rbac.authorization'), resource }
}

/**
 * Returns whether a write changes neither the rules nor the subjects. Labels are compared, too,
 * because a changed one may select the role for aggregation.
 */
function isSameGrant(object: AnyObject, oldObject: AnyObject): boolean {
  return (
    ['rules', 'aggregationRule', 'subjects', 'roleRef'].every((name) =>
      equalJson(memberOf(object, name), memberOf(oldObject, name)),
    ) && equalJson(object.metadata.labels ?? {}, oldObject.metadata.labels ?? {})
  )
}

function aggregates(role: AnyObject | null): boolean {
  if (role === null) return false
  return objectsMember(objectMember(role, 'aggregationRule'), 'clusterRoleSelectors').length > 0
}
