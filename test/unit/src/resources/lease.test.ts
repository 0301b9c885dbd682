/*
 * Goal: Lease follows the rules that leader election relies on.
 * Method: the shipped verbs on the state machine in memory.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fixture, causes, refused } from '../registry/fixture.ts'

const kind = 'Lease'
const name = 'leader'
const metadata = { name }

void test('a lease has a holder, and times to the microsecond', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const spec = {
    holderIdentity: 'a',
    leaseDurationSeconds: 15,
    acquireTime: '2026-01-02T03:04:05.123456Z',
    renewTime: '2026-01-02T03:04:05.123456Z',
    leaseTransitions: 0,
  }
  const { object } = await api.create({ kind, body: { metadata, spec } })
  assert.deepEqual(object['spec'], spec)
  const columns = api.definition(kind).columns ?? []
  assert.deepEqual(
    columns.map((column) => column.name),
    ['Name', 'Holder', 'Age'],
  )
  assert.equal(columns[1]?.cell(object), 'a')
  const bare = await api.create({ kind, body: { metadata: { name: 'bare' } } })
  assert.deepEqual(bare.object['spec'], {})
})

void test('the duration of a lease is positive, and its count of transitions is not negative', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const seen = await refused(
    api.create({ kind, body: { metadata, spec: { leaseDurationSeconds: 0, leaseTransitions: -1 } } }),
  )
  assert.deepEqual(
    [seen.code, ...causes(seen)],
    [422, 'FieldValueInvalid spec.leaseDurationSeconds', 'FieldValueInvalid spec.leaseTransitions'],
  )
})

void test('a PUT of a lease names the version that it replaces, or creates a lease', async (t) => {
  const api = await Fixture.open({ domain: 'k8s.io' })
  t.after(() => api.close())
  const put = (body: { readonly metadata: { readonly name: string; readonly resourceVersion?: string } }) =>
    api.update({ kind, name, body })
  const made = await put({ metadata })
  assert.equal(made.code, 201)
  const blind = await refused(put({ metadata }))
  assert.deepEqual([blind.code, ...causes(blind)], [422, 'FieldValueInvalid metadata.resourceVersion'])
  assert.ok(blind.message.includes('must be specified for an update'))
  const { resourceVersion } = made.object.metadata
  assert.equal((await put({ metadata: { name, resourceVersion } })).code, 200)
  assert.equal((await api.patch({ kind, name, body: { spec: { holderIdentity: 'b' } } })).code, 200)
})
