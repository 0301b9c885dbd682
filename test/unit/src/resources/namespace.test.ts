/*
 * Goal: namespaces as clients of both domains know them: labels, finalizers, phases, subresources.
 * Method: the shipped verbs on the state machine in memory.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fixture, causes, refused } from '../registry/fixture.ts'

const kind = 'Namespace'

void test('a cluster begins with the four namespaces of its domain', async (t) => {
  for (const [domain, wanted] of [
    ['orch.io', ['default', 'node-lease-ns', 'public-ns', 'system-ns']],
    ['k8s.io', ['default', 'kube-node-lease', 'kube-public', 'kube-system']],
  ] as const) {
    const api = await Fixture.open({ domain })
    t.after(() => api.close())
    const list = await api.list({ kind })
    assert.deepEqual(
      list.items.map(({ metadata }) => metadata.name),
      wanted,
    )
  }
})

void test('a new namespace is active, has its finalizer and is labelled with its name', async (t) => {
  for (const [domain, label, finalizer] of [
    ['orch.io', 'orch.io/metadata.name', 'orch'],
    ['k8s.io', 'kubernetes.io/metadata.name', 'kubernetes'],
  ] as const) {
    const api = await Fixture.open({ domain })
    t.after(() => api.close())
    const body = {
      metadata: { name: 'n', labels: { [label]: 'lie', a: 'b' } },
      status: { phase: 'Terminating' },
    }
    const { object } = await api.create({ kind, body })
    assert.deepEqual(object.metadata.labels, { [label]: 'n', a: 'b' })
    assert.deepEqual(object['spec'], { finalizers: [finalizer] })
    assert.deepEqual(object['status'], { phase: 'Active' })
    const patched = await api.patch({ kind, name: 'n', body: { metadata: { labels: null } } })
    assert.deepEqual(patched.object.metadata.labels, { [label]: 'n' })
  }
})

void test('the name of a namespace is a DNS label', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  for (const name of ['a.b', 'A', 'x'.repeat(64), '-a']) {
    const seen = await refused(api.create({ kind, body: { metadata: { name } } }))
    assert.deepEqual([seen.code, causes(seen)[0]], [422, 'FieldValueInvalid metadata.name'])
  }
})

void test('spec and status of a namespace change only through their own paths', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  await api.create({ kind, body: { metadata: { name: 'n' } } })
  const body = { metadata: { name: 'n', labels: { a: 'b' } }, spec: {}, status: { phase: 'Terminating' } }
  const put = await api.update({ kind, name: 'n', body })
  assert.equal(put.object.metadata.labels?.['a'], 'b')
  assert.deepEqual(
    [put.object['spec'], put.object['status']],
    [{ finalizers: ['orch'] }, { phase: 'Active' }],
  )
  const condition = { type: 'X', status: 'True' }
  const status = await api.patch({
    kind,
    name: 'n',
    subresource: 'status',
    body: { spec: { finalizers: [] }, status: { conditions: [condition] } },
  })
  assert.deepEqual(status.object['spec'], { finalizers: ['orch'] })
  const seen = { ...condition, lastTransitionTime: null }
  assert.deepEqual(status.object['status'], { phase: 'Active', conditions: [seen] })
  const phase = await refused(
    api.patch({ kind, name: 'n', subresource: 'status', body: { status: { phase: 'Terminating' } } }),
  )
  assert.deepEqual([phase.code, ...causes(phase)], [422, 'FieldValueInvalid status.Phase'])
  const read = await api.get({ kind, name: 'n', subresource: 'status' })
  assert.deepEqual(read.object, status.object)
  assert.equal((await refused(api.patch({ kind, name: 'n', subresource: 'finalize', body: {} }))).code, 405)
  assert.equal((await refused(api.update({ kind, name: 'n', subresource: 'other', body: {} }))).code, 404)
})

void test('spec 3.1: a namespace is removed when its finalizer is, and returned by that request', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  await api.create({ kind, body: { metadata: { name: 'n' } } })
  const marked = await api.delete({ kind, name: 'n' })
  assert.equal(marked.code, 202)
  assert.equal(marked.object.kind, 'Namespace')
  assert.deepEqual(marked.object['status'], { phase: 'Terminating' })
  assert.equal(marked.object.metadata.deletionTimestamp, '2026-01-02T03:04:05Z')
  assert.ok(!marked.text.includes('deletionGracePeriodSeconds'), 'as upstream')
  const finalize = { kind, name: 'n', subresource: 'finalize' }
  const body = { metadata: { name: 'n' }, spec: { finalizers: ['orch', 'x.io/other'] } }
  const added = await refused(api.update({ ...finalize, body }))
  assert.deepEqual([added.code, ...causes(added)], [422, 'FieldValueForbidden spec.finalizers'])
  const gone = await api.update({ ...finalize, body: { metadata: { name: 'n' }, spec: {} } })
  assert.deepEqual([gone.code, gone.object.kind, gone.object.metadata.name], [200, 'Namespace', 'n'])
  assert.equal((await refused(api.get({ kind, name: 'n' }))).code, 404)
})

void test('a namespace with content cannot be finalized', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  await api.create({ kind, body: { metadata: { name: 'n' } } })
  await api.create({ kind: 'Secret', namespace: 'n', body: { metadata: { name: 's' } } })
  await api.delete({ kind, name: 'n' })
  const finalize = { kind, name: 'n', subresource: 'finalize', body: { metadata: { name: 'n' }, spec: {} } }
  const seen = await refused(api.update(finalize))
  assert.equal(seen.code, 409)
  assert.match(seen.message, /the system is ensuring all content is removed from this namespace/)
  await api.delete({ kind: 'Secret', namespace: 'n', name: 's' })
  assert.equal((await api.update(finalize)).code, 200)
})

void test('a namespace with another finalizer stays', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const spec = { finalizers: ['x.io/mine'] }
  const made = await api.create({ kind, body: { metadata: { name: 'n' }, spec } })
  assert.deepEqual(made.object['spec'], { finalizers: ['x.io/mine', 'orch'] })
  await api.delete({ kind, name: 'n' })
  const finalize = { kind, name: 'n', subresource: 'finalize' }
  const still = await api.update({ ...finalize, body: { metadata: { name: 'n' }, spec } })
  assert.deepEqual(still.object['spec'], spec)
  const gone = await api.update({ ...finalize, body: { metadata: { name: 'n' }, spec: { finalizers: [] } } })
  assert.equal(gone.code, 200)
  const wrong = await refused(
    api.create({ kind, body: { metadata: { name: 'm' }, spec: { finalizers: ['mine'] } } }),
  )
  assert.deepEqual([wrong.code, ...causes(wrong)], [422, 'FieldValueInvalid spec.finalizers'])
})
