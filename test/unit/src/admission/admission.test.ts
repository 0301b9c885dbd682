/*
 * Goal: plugins run in order, the first rejection decides, and the namespaces that a cluster needs
 * stay.
 * Method: plugins of the test for the order; the shipped namespace lifecycle plugin through the
 * verbs.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { forbidden } from '../../../../src/api/errors/standard-errors.ts'
import { admissionChain } from '../../../../src/admission/chain.ts'
import type { AdmissionPlugin } from '../../../../src/admission/chain.ts'
import { Fixture, refused } from '../registry/fixture.ts'

void test('all plugins mutate in order, each the result of the previous one, and then all validate the last result', async (t) => {
  const log: string[] = []
  const plugin = (name: string): AdmissionPlugin => ({
    name,
    mutate: ({ object, operation }) => {
      log.push(`mutate ${name} ${operation}`)
      if (object === null) return null
      const labels = {
        ...object.metadata.labels,
        [name]: String(Object.keys(object.metadata.labels ?? {}).length),
      }
      return { ...object, metadata: { ...object.metadata, labels } }
    },
    validate: ({ object }) => {
      log.push(`validate ${name} ${JSON.stringify(object?.metadata.labels ?? null)}`)
    },
  })
  const api = await Fixture.open({ admission: admissionChain([plugin('a'), plugin('b')]) })
  t.after(() => api.close())
  const { object } = await api.configMap('x')
  assert.deepEqual(object.metadata.labels, { a: '0', b: '1' })
  assert.deepEqual(log, [
    'mutate a CREATE',
    'mutate b CREATE',
    'validate a {"a":"0","b":"1"}',
    'validate b {"a":"0","b":"1"}',
  ])
})

void test('admission cannot change fields that only the server sets', async (t) => {
  let ending: { readonly deletionTimestamp?: string } = { deletionTimestamp: '2026-01-01T00:00:00Z' }
  const tamper: AdmissionPlugin = {
    name: 'tamper',
    mutate: ({ object }) => {
      if (object === null) return null
      const metadata = { name: 'other', uid: '', ...ending, labels: { a: 'b' } }
      return { ...object, kind: 'Other', metadata }
    },
  }
  const api = await Fixture.open({ admission: admissionChain([tamper]) })
  t.after(() => api.close())
  const made = await api.configMap('x')
  assert.equal(made.object.kind, 'ConfigMap')
  const members = ['name', 'namespace', 'uid', 'resourceVersion', 'creationTimestamp', 'labels']
  assert.deepEqual(Object.keys(made.object.metadata), members)
  const refusal = await refused(api.patch({ name: 'x', body: { data: { k: 'v' } } }))
  assert.equal(refusal.code, 422)
  assert.match(refusal.message, /metadata\.deletionTimestamp: .*field is immutable/)
  ending = {}
  const changed = await api.patch({ name: 'x', body: { data: { k: 'v' } } })
  assert.equal(changed.object.kind, 'ConfigMap')
  const { resourceVersion } = made.object.metadata
  assert.deepEqual({ ...changed.object.metadata, resourceVersion }, made.object.metadata)
})

void test('the first plugin that refuses decides about a create, an update and a delete, and about dry runs', async (t) => {
  let refusing = false
  const refuse: AdmissionPlugin = {
    name: 'refuse',
    validate: ({ target }) => {
      if (refusing) throw forbidden({ group: '', resource: 'configmaps' }, target.name ?? '', 'because')
    },
  }
  const later: AdmissionPlugin = {
    name: 'later',
    validate: ({ target }) => {
      if (refusing)
        throw forbidden({ group: '', resource: 'configmaps' }, target.name ?? '', 'of another plugin')
    },
  }
  const api = await Fixture.open({ admission: admissionChain([refuse, later]) })
  t.after(() => api.close())
  await api.configMap('x')
  refusing = true
  const query = { dryRun: 'All' }
  for (const call of [
    api.configMap('y'),
    api.create({ body: { metadata: { name: 'y' } }, query }),
    api.patch({ name: 'x', body: { data: { k: 'v' } } }),
    api.patch({ name: 'x', body: { data: { k: 'v' } }, query }),
    api.delete({ name: 'x' }),
    api.delete({ name: 'x', query }),
  ]) {
    const seen = await refused(call)
    assert.equal(seen.code, 403)
    assert.match(seen.message, /is forbidden: because$/)
  }
})

void test('the namespaces that a cluster needs are not deleted', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  for (const name of ['default', 'system-ns', 'public-ns']) {
    const seen = await refused(api.delete({ kind: 'Namespace', name }))
    assert.equal(seen.code, 403)
    assert.equal(seen.message, `namespaces "${name}" is forbidden: this namespace may not be deleted`)
  }
  assert.equal((await api.delete({ kind: 'Namespace', name: 'node-lease-ns' })).code, 202)
  assert.equal((await refused(api.delete({ kind: 'Namespace', name: 'missing' }))).code, 404)
})
