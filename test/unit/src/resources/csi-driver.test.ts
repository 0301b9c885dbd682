/*
 * Goal: CSIDriver as spec 2.10 has it.
 * Method: the shipped verbs on the state machine in memory; each rule broken once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../../src/api/json.ts'
import { Fixture } from '../registry/fixture.ts'
import { cells, refusesChange, refusesNew } from './common/broken-rules.ts'

const kind = 'CSIDriver'
const name = 'd.example.com'
const body = { metadata: { name }, spec: {} }
const defaults = {
  attachRequired: true,
  fsGroupPolicy: 'ReadWriteOnceWithFSType',
  podInfoOnMount: false,
  requiresRepublish: false,
  storageCapacity: false,
  volumeLifecycleModes: ['Persistent'],
}

void test('spec 2.10: unset fields of a driver have defaults', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const { object } = await api.create({ kind, body })
  assert.deepEqual(object['spec'], defaults)
  const other = { ...body, metadata: { name: 'e' }, spec: { attachRequired: false } }
  const { object: given } = await api.create({ kind, body: other })
  assert.deepEqual(given['spec'], { ...defaults, attachRequired: false })
  const gone = await api.delete({ kind, name })
  assert.deepEqual([gone.code, gone.object.kind], [200, kind])
})

void test('spec 2.10: a driver without a spec is rejected, and an empty spec is accepted', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const change = { spec: null }
  await refusesNew(api, { kind, body }, [[change, ['FieldValueRequired spec']]])
  assert.equal((await api.create({ kind, body })).code, 201)
  await refusesChange(api, { kind, name }, [[change, ['FieldValueRequired spec']]])
})

void test('spec 2.10, 8: the name of a CSIDriver has 63 characters at most', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const longest = { metadata: { name: `a${'-.b'.replace('-', '').repeat(31)}` }, spec: {} }
  assert.equal(longest.metadata.name.length, 63)
  assert.equal((await api.create({ kind, body: longest })).code, 201)
  await refusesNew(api, { kind, body }, [
    [{ metadata: { name: 'a'.repeat(64) } }, ['FieldValueInvalid metadata.name'], '63 characters'],
    [{ metadata: { name: 'a-' } }, ['FieldValueInvalid metadata.name'], 'alphanumeric'],
    [{ metadata: { name: '.a' } }, ['FieldValueInvalid metadata.name']],
    [{ metadata: { name: 'a_b' } }, ['FieldValueInvalid metadata.name']],
  ])
})

void test('spec 2.10: policies, modes and tokens are validated', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const tokens = (...tokenRequests: readonly JsonObject[]) => ({ spec: { tokenRequests } })
  const at = 'spec.tokenRequests'
  await refusesNew(api, { kind, body }, [
    [{ spec: { fsGroupPolicy: 'Any' } }, ['FieldValueNotSupported spec.fsGroupPolicy'], '"File", "None"'],
    [
      { spec: { volumeLifecycleModes: ['Forever'] } },
      ['FieldValueNotSupported spec.volumeLifecycleModes'],
      '"Ephemeral", "Persistent"',
    ],
    [tokens({ audience: 'a' }, { audience: 'a' }), [`FieldValueDuplicate ${at}[1].audience`]],
    [
      tokens({ audience: '', expirationSeconds: 599 }),
      [`FieldValueInvalid ${at}[0].expirationSeconds`],
      '10 minutes',
    ],
    [
      tokens({ audience: '', expirationSeconds: 2 ** 32 + 1 }),
      [`FieldValueInvalid ${at}[0].expirationSeconds`],
      '2^32',
    ],
  ])
  const good = tokens({ audience: '', expirationSeconds: 600 }, { audience: 'a' })
  assert.equal((await api.create({ kind, body: { ...body, ...good } })).code, 201)
})

void test('spec 2.10: four members of the spec of a driver are immutable; other changes increase the generation', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  await api.create({ kind, body })
  await refusesChange(api, { kind, name }, [
    [{ spec: { attachRequired: false } }, ['FieldValueInvalid spec.attachRequired'], 'field is immutable'],
    [{ spec: { fsGroupPolicy: 'None' } }, ['FieldValueInvalid spec.fsGroupPolicy'], 'field is immutable'],
    [{ spec: { podInfoOnMount: true } }, ['FieldValueInvalid spec.podInfoOnMount']],
    [{ spec: { volumeLifecycleModes: ['Ephemeral'] } }, ['FieldValueInvalid spec.volumeLifecycleModes']],
  ])
  const tokenRequests = [{ audience: 'a' }, { audience: 'b' }]
  const change = { storageCapacity: true, requiresRepublish: true, tokenRequests }
  const { object } = await api.patch({ kind, name, body: { spec: change } })
  assert.equal(object.metadata.generation, 2)
  assert.deepEqual(cells(api, kind, object), {
    Name: name,
    AttachRequired: true,
    PodInfoOnMount: false,
    StorageCapacity: true,
    TokenRequests: 'a,b',
    RequiresRepublish: true,
    Modes: 'Persistent',
  })
  assert.equal(cells(api, kind, { ...object, spec: {} })['TokenRequests'], '<unset>')
})
