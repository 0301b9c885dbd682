/*
 * Goal: StorageClass follows spec 2.8.
 * Method: the shipped verbs on the state machine in memory; each rule broken once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fixture } from '../registry/fixture.ts'
import { cells, refusesChange, refusesNew } from './common/broken-rules.ts'

const kind = 'StorageClass'
const name = 'fast'
const body = { metadata: { name }, provisioner: 'Example.com/maker' }

void test('spec 2.8: the defaults of a class are Delete and Immediate', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const { object } = await api.create({ kind, body })
  assert.equal(object['apiVersion'], 'storage.orch.io/v1')
  assert.deepEqual([object['reclaimPolicy'], object['volumeBindingMode']], ['Delete', 'Immediate'])
  const list = await api.list({ kind })
  assert.deepEqual([list.kind, list.items.length], ['StorageClassList', 1])
  const gone = await api.delete({ kind, name })
  assert.deepEqual([gone.code, gone.object.kind], [200, kind])
})

void test('spec 2.8: the provisioner is required, policies and parameters are valid; topologies have key and values, and are distinct', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const rule = { key: 'zone', values: ['a', 'b'] }
  const term = (...rules: readonly object[]) => ({
    matchLabelExpressions: rules.map((each) => ({ ...each })),
  })
  const topologies = (...terms: readonly ReturnType<typeof term>[]) => ({ allowedTopologies: terms })
  const at = 'allowedTopologies[0].matchLabelExpressions'
  await refusesNew(api, { kind, body }, [
    [{ provisioner: null }, ['FieldValueRequired provisioner']],
    [{ provisioner: 'a b' }, ['FieldValueInvalid provisioner'], 'name part'],
    [{ reclaimPolicy: 'Recycle' }, ['FieldValueNotSupported reclaimPolicy'], '"Delete", "Retain"'],
    [{ volumeBindingMode: 'Later' }, ['FieldValueNotSupported volumeBindingMode'], '"WaitForFirstConsumer"'],
    [{ parameters: { '': 'x' } }, ['FieldValueInvalid parameters'], 'can not be empty'],
    [{ parameters: { a: 'x'.repeat(256 * 1024) } }, ['FieldValueTooLong parameters']],
    [
      { parameters: Object.fromEntries(Array.from({ length: 513 }, (_, index) => [`k${index}`, ''])) },
      ['FieldValueTooMany parameters'],
    ],
    [topologies(term({ values: ['a'] })), [`FieldValueRequired ${at}[0].key`]],
    [topologies(term({ key: 'zone' })), [`FieldValueRequired ${at}[0].values`]],
    [topologies(term({ key: 'a b', values: ['a'] })), [`FieldValueInvalid ${at}[0].key`]],
    [topologies(term(rule, rule)), [`FieldValueDuplicate ${at}[1].key`]],
    [topologies(term({ key: 'zone', values: ['a', 'a'] })), [`FieldValueDuplicate ${at}[0].values[1]`]],
    [
      topologies(term(rule), term({ key: 'zone', values: ['b', 'a'] })),
      ['FieldValueDuplicate allowedTopologies[1].matchLabelExpressions'],
    ],
  ])
  const good = topologies(term(rule), term({ key: 'zone', values: ['c'] }), term())
  assert.equal((await api.create({ kind, body: { ...body, ...good } })).code, 201)
})

void test('the provisioner, parameters, reclaim policy and binding mode of a class are immutable', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  await api.create({ kind, body: { ...body, parameters: { a: 'b' } } })
  await refusesChange(api, { kind, name }, [
    [{ provisioner: 'other' }, ['FieldValueForbidden provisioner'], 'updates to provisioner are forbidden'],
    [{ parameters: { c: 'd' } }, ['FieldValueForbidden parameters'], 'are forbidden'],
    [{ reclaimPolicy: 'Retain' }, ['FieldValueForbidden reclaimPolicy']],
    [{ volumeBindingMode: 'WaitForFirstConsumer' }, ['FieldValueInvalid volumeBindingMode'], 'immutable'],
  ])
  const change = { allowVolumeExpansion: true, mountOptions: ['ro'], allowedTopologies: [] }
  assert.equal((await api.patch({ kind, name, body: change })).code, 200)
})

void test('a class has its columns; the default one is marked, with the names of the domain', async (t) => {
  for (const [domain, key] of [
    ['orch.io', 'storageclass.orch.io/is-default-class'],
    ['k8s.io', 'storageclass.beta.kubernetes.io/is-default-class'],
  ] as const) {
    const api = await Fixture.open({ domain })
    t.after(() => api.close())
    const metadata = { name, annotations: { [key]: 'true' } }
    const { object } = await api.create({ kind, body: { ...body, metadata, allowVolumeExpansion: true } })
    assert.deepEqual(cells(api, kind, object), {
      Name: 'fast (default)',
      Provisioner: 'Example.com/maker',
      ReclaimPolicy: 'Delete',
      VolumeBindingMode: 'Immediate',
      AllowVolumeExpansion: true,
    })
  }
})
