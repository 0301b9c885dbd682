/*
 * Goal: roles and bindings as upstream has them: rules, subjects, references, defaults, columns.
 * Method: the shipped verbs on the state machine in memory; each rule violated once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json, JsonObject } from '../../../../src/api/json.ts'
import { namesOf } from '../../../../src/api/metadata/names.ts'
import type { ApiDomain } from '../../../../src/api/metadata/names.ts'
import { Fixture, causes, refused } from '../registry/fixture.ts'

const domains: readonly ApiDomain[] = ['orch.io', 'k8s.io']
const metadata = { name: 'system:some' }
const rule = { verbs: ['get'], apiGroups: [''], resources: ['pods'] }

void test('spec 5.7: a rule has verbs, and resources or paths', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const rows: readonly (readonly [string, JsonObject, readonly string[], string])[] = [
    ['Role', { ...rule, verbs: [] }, ['FieldValueRequired rules[0].verbs'], 'Required value'],
    ['Role', { ...rule, apiGroups: [] }, ['FieldValueRequired rules[0].apiGroups'], 'at least one api group'],
    ['Role', { ...rule, resources: [] }, ['FieldValueRequired rules[0].resources'], 'at least one resource'],
    [
      'Role',
      { verbs: ['get'], nonResourceURLs: ['/x'] },
      ['FieldValueInvalid rules[0].nonResourceURLs'],
      'namespaced rules cannot apply to non-resource URLs',
    ],
    [
      'ClusterRole',
      { ...rule, nonResourceURLs: ['/x'] },
      ['FieldValueInvalid rules[0].nonResourceURLs'],
      'rules cannot apply to both regular resources and non-resource URLs',
    ],
  ]
  for (const [kind, bad, wanted, words] of rows) {
    const seen = await refused(api.create({ kind, body: { metadata, rules: [bad] } }))
    assert.deepEqual([seen.code, ...causes(seen)], [422, ...wanted])
    assert.ok(seen.message.includes(words), seen.message)
  }
  const paths = { verbs: ['get'], nonResourceURLs: ['/x'] }
  assert.equal(
    (await api.create({ kind: 'ClusterRole', body: { metadata, rules: [rule, paths] } })).code,
    201,
  )
  assert.equal((await api.create({ kind: 'Role', body: { metadata, rules: [rule] } })).code, 201)
})

void test('the name of a role is a valid path segment', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  for (const kind of ['Role', 'ClusterRole']) {
    const seen = await refused(api.create({ kind, body: { metadata: { name: 'a/b' } } }))
    assert.deepEqual([seen.code, causes(seen)[0]], [422, 'FieldValueInvalid metadata.name'])
    assert.equal((await api.create({ kind, body: { metadata: { name: 'System:A b' } } })).code, 201)
  }
})

void test('an aggregated role selects others by their labels', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const make = (aggregationRule: JsonObject) =>
    api.create({ kind: 'ClusterRole', body: { metadata, aggregationRule } })
  const field = 'aggregationRule.clusterRoleSelectors'
  const none = await refused(make({}))
  assert.deepEqual([none.code, ...causes(none)], [422, `FieldValueRequired ${field}`])
  const odd = await refused(make({ clusterRoleSelectors: [{ matchLabels: { 'a b': 'c' } }] }))
  assert.deepEqual([odd.code, ...causes(odd)], [422, `FieldValueInvalid ${field}[0].matchLabels`])
  assert.equal((await make({ clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] })).code, 201)
})

void test('spec 5.7: a binding names a role and its subjects', async (t) => {
  for (const domain of domains) {
    const api = await Fixture.open({ domain })
    t.after(() => api.close())
    const group = namesOf(domain).group('rbac.authorization')
    const role = { apiGroup: group, kind: 'ClusterRole', name: 'view' }
    const user = { kind: 'User', name: 'jane', apiGroup: group }
    const rows: readonly (readonly [JsonObject, readonly string[]])[] = [
      [{}, ['FieldValueRequired roleRef.kind', 'FieldValueRequired roleRef.name']],
      [{ roleRef: { ...role, apiGroup: 'x' } }, ['FieldValueNotSupported roleRef.apiGroup']],
      [{ roleRef: { ...role, kind: 'Group' } }, ['FieldValueNotSupported roleRef.kind']],
      [{ roleRef: { ...role, name: 'a/b' } }, ['FieldValueInvalid roleRef.name']],
      [{ roleRef: role, subjects: [{ ...user, name: '' }] }, ['FieldValueRequired subjects[0].name']],
      [
        { roleRef: role, subjects: [{ ...user, apiGroup: 'x' }] },
        ['FieldValueNotSupported subjects[0].apiGroup'],
      ],
      [{ roleRef: role, subjects: [{ ...user, kind: 'Pod' }] }, ['FieldValueNotSupported subjects[0].kind']],
      [{ roleRef: role, subjects: [{ name: 'x' }] }, ['FieldValueRequired subjects[0].kind']],
      [
        { roleRef: role, subjects: [user, { kind: 'ServiceAccount', namespace: 'a', name: 'A' }] },
        ['FieldValueInvalid subjects[1].name'],
      ],
      [
        { roleRef: role, subjects: [{ kind: 'ServiceAccount', namespace: 'a', name: 'a', apiGroup: group }] },
        ['FieldValueNotSupported subjects[0].apiGroup'],
      ],
    ]
    for (const kind of ['RoleBinding', 'ClusterRoleBinding']) {
      for (const [body, wanted] of rows) {
        const seen = await refused(api.create({ kind, body: { metadata, ...body } }))
        assert.deepEqual([seen.code, ...causes(seen)], [422, ...wanted])
      }
    }
    const subjects = [{ kind: 'ServiceAccount', name: 'a' }]
    const homeless = await refused(
      api.create({ kind: 'ClusterRoleBinding', body: { metadata, roleRef: role, subjects } }),
    )
    assert.deepEqual(causes(homeless), ['FieldValueRequired subjects[0].namespace'])
    const local = { ...role, kind: 'Role' }
    const narrow = await refused(
      api.create({ kind: 'ClusterRoleBinding', body: { metadata, roleRef: local } }),
    )
    assert.deepEqual(causes(narrow), ['FieldValueNotSupported roleRef.kind'])
    assert.equal((await api.create({ kind: 'RoleBinding', body: { metadata, roleRef: local } })).code, 201)
  }
})

void test('the API group of a subject has a default; the role of a binding is immutable', async (t) => {
  for (const domain of domains) {
    const api = await Fixture.open({ domain })
    t.after(() => api.close())
    const group = namesOf(domain).group('rbac.authorization')
    for (const kind of ['RoleBinding', 'ClusterRoleBinding']) {
      const subjects: Json = [
        { kind: 'User', name: 'jane' },
        { kind: 'Group', name: 'staff' },
        { kind: 'ServiceAccount', name: 'a', namespace: 'default' },
      ]
      const body = { metadata, roleRef: { kind: 'ClusterRole', name: 'view' }, subjects }
      const { object } = await api.create({ kind, body })
      assert.deepEqual(object['roleRef'], { kind: 'ClusterRole', name: 'view', apiGroup: group })
      assert.deepEqual(object['subjects'], [
        { kind: 'User', name: 'jane', apiGroup: group },
        { kind: 'Group', name: 'staff', apiGroup: group },
        { kind: 'ServiceAccount', name: 'a', namespace: 'default' },
      ])
      const { name } = metadata
      const other = await refused(api.patch({ kind, name, body: { roleRef: { name: 'edit' } } }))
      assert.deepEqual([other.code, ...causes(other)], [422, 'FieldValueInvalid roleRef'])
      assert.ok(other.message.includes('cannot change roleRef'))
      assert.equal((await api.patch({ kind, name, body: { subjects: [] } })).code, 200)
    }
  }
})

void test('columns of bindings show the role and its subjects by kind', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const subjects = [
    { kind: 'User', name: 'jane' },
    { kind: 'User', name: 'joe' },
    { kind: 'Group', name: 'staff' },
    { kind: 'ServiceAccount', name: 'a', namespace: 'b' },
  ]
  for (const kind of ['RoleBinding', 'ClusterRoleBinding']) {
    const body = { metadata, roleRef: { kind: 'ClusterRole', name: 'view' }, subjects }
    const { object } = await api.create({ kind, body })
    const columns = api.definition(kind).columns ?? []
    const shown = columns.map(({ name, cell, priority = 0 }) => [name, priority, cell(object)])
    assert.deepEqual(shown, [
      ['Name', 0, 'system:some'],
      ['Role', 0, 'ClusterRole/view'],
      ['Age', 0, { since: object.metadata.creationTimestamp }],
      ['Users', 1, 'jane, joe'],
      ['Groups', 1, 'staff'],
      ['ServiceAccounts', 1, 'b/a'],
    ])
  }
  assert.equal(api.definition('Role').columns, undefined)
})

void test('a PUT to a missing role or binding creates it in every domain', async (t) => {
  for (const domain of domains) {
    const api = await Fixture.open({ domain })
    t.after(() => api.close())
    for (const kind of ['Role', 'ClusterRole', 'RoleBinding', 'ClusterRoleBinding']) {
      const body = {
        metadata,
        ...(kind.endsWith('Binding') ? { roleRef: { kind: 'ClusterRole', name: 'v' } } : {}),
      }
      assert.equal((await api.update({ kind, name: metadata.name, body })).code, 201)
    }
  }
})

void test('a role that aggregates others is stored without a warning, in both domains', async (t) => {
  for (const domain of domains) {
    const api = await Fixture.open({ domain })
    t.after(() => api.close())
    const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] }
    await api.create({ kind: 'ClusterRole', body: { metadata, rules: [rule] } })
    assert.deepEqual(api.warnings.splice(0), [])
    await api.create({ kind: 'ClusterRole', body: { metadata: { name: 'all' }, rules: [], aggregationRule } })
    assert.deepEqual(api.warnings.splice(0), [])
  }
})
