/*
 * Goal: stored roles and bindings decide, as they are after each change. Method: random policies,
 * changed step by step, against an evaluator that looks at every binding for every decision.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Action, ResourceAction } from '../../../../src/api/action.ts'
import type { UserInfo } from '../../../../src/api/metadata/object.ts'
import type { Decision } from '../../../../src/auth/decision.ts'
import { rbac } from '../../../../src/auth/rbac.ts'
import { ruleAllows } from '../../../../src/auth/rules.ts'
import type { PolicyRule } from '../../../../src/auth/rules.ts'
import { storedBinding, storedRole } from '../../../../src/auth/stored-policy.ts'
import type { StoredBinding, StoredRole } from '../../../../src/auth/stored-policy.ts'
import { StoredRules } from '../../../../src/auth/stored-rules.ts'
import { authenticatedUser } from '../../../../src/auth/user.ts'
import type { InformerChange } from '../../../../src/registry/informer.ts'
import { keyOf } from '../../../../src/store/key.ts'
import { fc } from '../../../support/generators/fast-check.ts'

/** A map with listeners, in place of an informer. */
class Table<T extends { readonly namespace: string; readonly name: string }> {
  readonly values = new Map<string, T>()
  readonly #listeners: ((change: InformerChange<T>) => void)[] = []

  subscribe(listener: (change: InformerChange<T>) => void): () => void {
    this.#listeners.push(listener)
    return () => undefined
  }

  set(value: T): void {
    const key = keyOf({ group: 'g', plural: 'p', namespace: value.namespace, name: value.name })
    const previous = this.values.get(key) ?? null
    this.values.set(key, value)
    for (const listener of this.#listeners) listener({ kind: 'set', key, value, previous })
  }

  remove({ namespace, name }: { readonly namespace: string; readonly name: string }): void {
    const key = keyOf({ group: 'g', plural: 'p', namespace, name })
    const previous = this.values.get(key)
    if (previous === undefined) return
    this.values.delete(key)
    for (const listener of this.#listeners) listener({ kind: 'removed', key, previous })
  }
}

class Policy {
  readonly roles = new Table<StoredRole>()
  readonly clusterRoles = new Table<StoredRole>()
  readonly roleBindings = new Table<StoredBinding>()
  readonly clusterRoleBindings = new Table<StoredBinding>()
  readonly rules = new StoredRules(this)

  /** Decides by the definition: a binding of the user grants a role with a rule that allows. */
  allows(user: UserInfo, action: Action): boolean {
    const names = [`user ${user.name}`, ...user.groups.map((group) => `group ${group}`)]
    const bindings = [...this.clusterRoleBindings.values.values(), ...this.roleBindings.values.values()]
    return bindings.some((binding) => {
      const { namespace, role, subjects } = binding
      if (!subjects.some((subject) => names.includes(subject))) return false
      if (namespace !== '' && (action.kind === 'path' || action.namespace !== namespace)) return false
      const roles = role.kind === 'Role' ? this.roles : this.clusterRoles
      const of = role.kind === 'Role' ? namespace : ''
      const found = [...roles.values.values()].find((one) => one.name === role.name && one.namespace === of)
      return found?.rules.some((rule) => ruleAllows(rule, action)) ?? false
    })
  }
}

const some = (...texts: string[]): fc.Arbitrary<string[]> => fc.subarray(texts, { minLength: 1 })
const rule: fc.Arbitrary<PolicyRule> = fc.oneof(
  fc.record({
    verbs: some('get', 'list', '*'),
    apiGroups: some('', 'apps', '*'),
    resources: some('pods', 'pods/log', '*', '*/log', 'secrets'),
    resourceNames: fc.subarray(['a', 'b']),
  }),
  fc.record({ verbs: some('get', '*'), nonResourceURLs: some('/metrics', '/x/*', '*') }),
)
const namespace = fc.constantFrom('n', 'm')
const roleName = fc.constantFrom('r', 's')
const subjects = fc.subarray(['user u', 'user v', 'group g'], { minLength: 0 })
const change = fc.oneof(
  fc.record({
    kind: fc.constant('role'),
    namespace,
    name: roleName,
    rules: fc.array(rule, { maxLength: 3 }),
  }),
  fc.record({ kind: fc.constant('cluster-role'), name: roleName, rules: fc.array(rule, { maxLength: 3 }) }),
  fc.record({
    kind: fc.constant('binding'),
    namespace,
    name: fc.constantFrom('x', 'y'),
    role: fc.record({ kind: fc.constantFrom('Role', 'ClusterRole'), name: roleName }),
    subjects,
  }),
  fc.record({
    kind: fc.constant('cluster-binding'),
    name: fc.constantFrom('x', 'y'),
    role: fc.record({ kind: fc.constant('ClusterRole'), name: roleName }),
    subjects,
  }),
  fc.record({
    kind: fc.constant('remove'),
    of: fc.constantFrom('roles', 'clusterRoles', 'roleBindings', 'clusterRoleBindings'),
    namespace,
    name: fc.constantFrom('r', 's', 'x', 'y'),
  }),
)
const action: fc.Arbitrary<Action> = fc.oneof(
  fc.record({
    kind: fc.constant('resource'),
    verb: fc.constantFrom('get', 'list', 'delete'),
    group: fc.constantFrom('', 'apps', 'other'),
    version: fc.constant('v1'),
    resource: fc.constantFrom('pods', 'secrets'),
    subresource: fc.constantFrom('', 'log'),
    namespace: fc.constantFrom('', 'n', 'm'),
    name: fc.constantFrom('', 'a', 'c'),
  }) as fc.Arbitrary<ResourceAction>,
  fc.record({
    kind: fc.constant('path'),
    verb: fc.constantFrom('get', 'post'),
    path: fc.constantFrom('/metrics', '/x/y', '/z'),
  }) as fc.Arbitrary<Action>,
)

function apply(policy: Policy, of: Record<string, unknown>): void {
  const named = { namespace: '', ...of } as { kind: string; namespace: string; name: string; of: string }
  switch (named.kind) {
    case 'role':
      policy.roles.set(named as unknown as StoredRole)
      return
    case 'cluster-role':
      policy.clusterRoles.set(named as unknown as StoredRole)
      return
    case 'binding':
      policy.roleBindings.set(named as unknown as StoredBinding)
      return
    case 'cluster-binding':
      policy.clusterRoleBindings.set(named as unknown as StoredBinding)
      return
    default: {
      const table = policy[named.of as 'roles' | 'clusterRoles']
      const isNamespaced = named.of === 'roles' || named.of === 'roleBindings'
      table.remove({ namespace: isNamespaced ? named.namespace : '', name: named.name })
    }
  }
}

void test('spec 5.7: after every change of a policy, decisions are those of an evaluator that looks at everything', () => {
  const users = [
    authenticatedUser({ name: 'u', groups: [] }),
    authenticatedUser({ name: 'v', groups: ['g'] }),
    authenticatedUser({ name: 'w', groups: [] }),
  ]
  const seen = { allow: 0, 'no-opinion': 0, deny: 0 }
  fc.assert(
    fc.property(
      fc.array(change, { minLength: 8, maxLength: 30 }),
      fc.array(action, { minLength: 1, maxLength: 8 }),
      (changes, actions) => {
        const policy = new Policy()
        const authorizer = rbac(policy.rules)
        for (const one of changes) {
          apply(policy, one)
          for (const user of users) {
            for (const requested of actions) {
              const { kind } = authorizer.authorize(user, requested) as Decision
              seen[kind]++
              assert.equal(
                kind === 'allow',
                policy.allows(user, requested),
                JSON.stringify({ user, requested }),
              )
            }
          }
        }
      },
    ),
    { numRuns: 400 },
  )
  assert.ok(seen.allow > 500 && seen['no-opinion'] > 500, JSON.stringify(seen))
})

void test('the reason of a decision names the binding and the role', () => {
  const policy = new Policy()
  policy.clusterRoles.set(
    storedRole({
      apiVersion: 'v1',
      kind: 'ClusterRole',
      metadata: { name: 'reader' },
      rules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }],
    }),
  )
  const binding = {
    apiVersion: 'v1',
    kind: 'RoleBinding',
    metadata: { name: 'readers', namespace: 'n' },
    roleRef: { kind: 'ClusterRole', name: 'reader' },
    subjects: [
      { kind: 'ServiceAccount', name: 'robot' },
      { kind: 'Other', name: 'x' },
    ],
  }
  policy.roleBindings.set(storedBinding(binding))
  const robot = authenticatedUser({ name: 'system:serviceaccount:n:robot', groups: [] })
  const pods: Action = {
    ...{ kind: 'resource', verb: 'get', group: '', version: 'v1', resource: 'pods' },
    ...{ subresource: '', namespace: 'n', name: 'p' },
  }
  assert.deepEqual(rbac(policy.rules).authorize(robot, pods), {
    kind: 'allow',
    reason: 'RBAC: allowed by RoleBinding "readers/n" of ClusterRole "reader"',
  })
})

void test('thousands of bindings of a user to one role give its rules once', () => {
  const policy = new Policy()
  const rules = [1, 2, 3].map((at) => ({ verbs: ['get'], apiGroups: [''], resources: [`r${at}`] }))
  const role = { kind: 'Role', name: 'reader' } as const
  const user = authenticatedUser({ name: 'u', groups: ['g'] })
  for (const namespace of ['n', 'm']) policy.roles.set({ namespace, name: 'reader', rules })
  for (let at = 0; at < 3000; at++) {
    const binding = { namespace: 'n', role, subjects: ['user u', 'group g'] }
    policy.roleBindings.set({ ...binding, name: `b${at}` })
  }
  assert.deepEqual(
    policy.rules.namespaceGrants(user, 'n').map((grant) => grant.rules),
    [rules],
  )

  // Each of the bindings alone is enough.
  for (let at = 0; at < 2999; at++) policy.roleBindings.remove({ namespace: 'n', name: `b${at}` })
  const [first] = policy.rules.namespaceGrants(user, 'n')
  assert.equal(first?.grantedBy, 'RBAC: allowed by RoleBinding "b2999/n" of Role "reader"')
  policy.roleBindings.remove({ namespace: 'n', name: 'b2999' })
  assert.deepEqual(policy.rules.namespaceGrants(user, 'n'), [])
})

void test('the rules of a role are indexed once, not again for each user', () => {
  const policy = new Policy()
  let reads = 0
  const rule = (at: number): PolicyRule => ({
    verbs: ['get'],
    apiGroups: [''],
    get resources() {
      reads++
      return ['configmaps']
    },
    resourceNames: [`x${at}`],
  })
  const rules = Array.from({ length: 100 }, (_, at) => rule(at))
  policy.roles.set({ namespace: 'n', name: 'r', rules })
  const role = { kind: 'Role', name: 'r' } as const
  policy.roleBindings.set({ namespace: 'n', name: 'b', role, subjects: ['group g'] })
  const authorizer = rbac(policy.rules)
  const decided = (user: string, name: string): string => {
    const action = {
      kind: 'resource',
      verb: 'get',
      group: '',
      version: 'v1',
      resource: 'configmaps',
    } as const
    const on = { ...action, subresource: '', namespace: 'n', name }
    return (authorizer.authorize(authenticatedUser({ name: user, groups: ['g'] }), on) as Decision).kind
  }
  assert.equal(decided('first', 'y'), 'no-opinion')
  const readsOfIndex = reads
  for (let at = 0; at < 50; at++) {
    assert.equal(decided(`user-${at}`, 'y'), 'no-opinion')
    assert.equal(decided(`user-${at}`, `x${at}`), 'allow')
  }
  assert.ok(reads - readsOfIndex <= 100, `${reads - readsOfIndex} reads of rules for 100 decisions`)
})
