import { objectsMember, textMember } from '../api/json.ts'
import type { JsonObject } from '../api/json.ts'
import type { AnyObject } from '../registry/kinds/definition.ts'
import { roleReference, rulesIn } from '../registry/kinds/policy-rules.ts'
import type { PolicyRule, RoleReference } from '../registry/kinds/policy-rules.ts'
import { subjectName } from './rules.ts'

/** A stored Role or ClusterRole, as authorization uses it. */
export type StoredRole = {
  /** Empty: a ClusterRole. */
  readonly namespace: string
  readonly name: string
  readonly rules: readonly PolicyRule[]
}

/** A stored RoleBinding or ClusterRoleBinding, as authorization uses it. */
export type StoredBinding = {
  /** Empty: a ClusterRoleBinding. */
  readonly namespace: string
  readonly name: string
  readonly role: RoleReference
  /** As `subjectName` returns them, without repetitions. */
  readonly subjects: readonly string[]
}

export function storedRole(object: AnyObject): StoredRole {
  const { namespace = '', name = '' } = object.metadata
  return { namespace, name, rules: rulesIn(object) }
}

export function storedBinding(object: AnyObject): StoredBinding {
  const { namespace = '', name = '' } = object.metadata
  const subjects = objectsMember(object, 'subjects').flatMap((subject) => subjectOf(subject, namespace) ?? [])
  return { namespace, name, role: roleReference(object), subjects: [...new Set(subjects)] }
}

/**
 * @returns null for a subject that nothing matches: one of another kind, or a service account
 * without a namespace
 */
function subjectOf(subject: JsonObject, bindingNamespace: string): string | null {
  const name = textMember(subject, 'name')
  switch (textMember(subject, 'kind')) {
    case 'User':
      return subjectName({ kind: 'User', name })
    case 'Group':
      return subjectName({ kind: 'Group', name })
    case 'ServiceAccount': {
      const own = textMember(subject, 'namespace')
      const namespace = own === '' ? bindingNamespace : own
      return namespace === '' ? null : subjectName({ kind: 'ServiceAccount', namespace, name })
    }
    default:
      return null
  }
}
