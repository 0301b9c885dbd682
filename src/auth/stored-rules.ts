import type { UserInfo } from '../api/metadata/object.ts'
import type { InformerChange } from '../registry/informer.ts'
import { subjectNamesOf } from './rules.ts'
import type { Grant, RuleSource } from './rules.ts'
import type { StoredBinding, StoredRole } from './stored-policy.ts'

/** The part of an informer that the rules follow. */
type Followed<T> = { subscribe(listener: (change: InformerChange<T>) => void): () => void }

export type StoredRulesDependencies = {
  readonly roles: Followed<StoredRole>
  readonly clusterRoles: Followed<StoredRole>
  readonly roleBindings: Followed<StoredBinding>
  readonly clusterRoleBindings: Followed<StoredBinding>
}

/**
 * The rules of stored roles and bindings, as far as this member has applied them. Bindings are
 * indexed by namespace and subject, so the cost of a lookup depends only on the number of bindings
 * that the user has there, and the rules of a role count once, however many bindings to it the user
 * has. Otherwise a user that may write bindings could make the checks of others slow. The stored
 * objects bound the memory.
 */
export class StoredRules implements RuleSource {
  #version = 0
  readonly #roles = new Map<string, StoredRole>()
  /** By namespace, empty for the whole cluster, then by subject. */
  readonly #bindings = new Map<string, Map<string, Set<StoredBinding>>>()
  readonly #grants = new WeakMap<StoredBinding, Grant>()

  constructor(dependencies: StoredRulesDependencies) {
    const { roles, clusterRoles, roleBindings, clusterRoleBindings } = dependencies
    for (const source of [roles, clusterRoles]) source.subscribe((change) => this.#takeRole(change))
    for (const source of [roleBindings, clusterRoleBindings]) {
      source.subscribe((change) => this.#takeBinding(change))
    }
  }

  get version(): number {
    return this.#version
  }

  clusterGrants(user: UserInfo): readonly Grant[] {
    return this.#grantsIn('', user)
  }

  namespaceGrants(user: UserInfo, namespace: string): readonly Grant[] {
    return namespace === '' ? [] : this.#grantsIn(namespace, user)
  }

  #grantsIn(namespace: string, user: UserInfo): readonly Grant[] {
    const bySubject = this.#bindings.get(namespace)
    if (bySubject === undefined) return []
    // The first binding to a role gives its rules: more of them would give the same ones.
    const byRole = new Map<string, StoredBinding>()
    for (const subject of subjectNamesOf(user)) {
      for (const binding of bySubject.get(subject) ?? []) {
        const role = grantedRole(binding)
        if (!byRole.has(role)) byRole.set(role, binding)
      }
    }
    return [...byRole.values()].flatMap((binding) => this.#grantOf(binding) ?? [])
  }

  /** @returns null: there is no such role */
  #grantOf(binding: StoredBinding): Grant | null {
    const role = this.#roles.get(grantedRole(binding))
    if (role === undefined) return null
    const known = this.#grants.get(binding)
    if (known?.rules === role.rules) return known
    const grant = { rules: role.rules, grantedBy: `RBAC: allowed by ${textOf(binding)}` }
    this.#grants.set(binding, grant)
    return grant
  }

  #takeRole(change: InformerChange<StoredRole>): void {
    this.#version++
    const { namespace, name } = change.kind === 'set' ? change.value : change.previous
    if (change.kind === 'set') this.#roles.set(roleKey(namespace, name), change.value)
    else this.#roles.delete(roleKey(namespace, name))
  }

  #takeBinding(change: InformerChange<StoredBinding>): void {
    this.#version++
    if (change.previous !== null) this.#remove(change.previous)
    if (change.kind === 'set') this.#add(change.value)
  }

  #add(binding: StoredBinding): void {
    const bySubject = this.#bindings.get(binding.namespace) ?? new Map<string, Set<StoredBinding>>()
    this.#bindings.set(binding.namespace, bySubject)
    for (const subject of binding.subjects) {
      const bindings = bySubject.get(subject)
      if (bindings === undefined) bySubject.set(subject, new Set([binding]))
      else bindings.add(binding)
    }
  }

  #remove(binding: StoredBinding): void {
    const bySubject = this.#bindings.get(binding.namespace)
    if (bySubject === undefined) return
    for (const subject of binding.subjects) {
      const bindings = bySubject.get(subject)
      bindings?.delete(binding)
      if (bindings?.size === 0) bySubject.delete(subject)
    }
    if (bySubject.size === 0) this.#bindings.delete(binding.namespace)
  }
}

/** @param namespace empty for a ClusterRole */
function roleKey(namespace: string, name: string): string {
  return `${namespace}/${name}`
}

/** Returns the key of the role that a binding grants. */
function grantedRole({ namespace, role: { kind, name } }: StoredBinding): string {
  return roleKey(kind === 'Role' ? namespace : '', name)
}

/** @source apiserver plugin `auth/authorizer/rbac`: the reason in its audit annotation */
function textOf({ namespace, name, role }: StoredBinding): string {
  const kind = namespace === '' ? 'ClusterRoleBinding' : 'RoleBinding'
  const spelled = namespace === '' ? name : `${name}/${namespace}`
  return `${kind} ${JSON.stringify(spelled)} of ${role.kind} ${JSON.stringify(role.name)}`
}
