/*
 * Goal: CSIStorageCapacity as upstream has it.
 * Method: the shipped verbs on the state machine in memory; each rule broken once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fixture } from '../registry/fixture.ts'
import { cells, refusesChange, refusesNew } from './common/broken-rules.ts'

const kind = 'CSIStorageCapacity'
const name = 'c'
const nodeTopology = { matchLabels: { zone: 'a' } }
const body = { metadata: { name }, storageClassName: 'fast', nodeTopology, capacity: '10Gi' }

void test('a storage capacity needs a class and a valid topology, and its amounts are not negative', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  await refusesNew(api, { kind, body }, [
    [{ storageClassName: null }, ['FieldValueRequired storageClassName']],
    [{ storageClassName: 'A' }, ['FieldValueInvalid storageClassName'], 'subdomain'],
    [{ capacity: '-1' }, ['FieldValueInvalid capacity'], 'greater than or equal to 0'],
    [{ maximumVolumeSize: '-1' }, ['FieldValueInvalid maximumVolumeSize']],
    [{ nodeTopology: { matchLabels: { zone: 'a b' } } }, ['FieldValueInvalid nodeTopology.matchLabels']],
  ])
  const { object } = await api.create({ kind, body: { ...body, capacity: '0' } })
  assert.deepEqual(cells(api, kind, object), { Name: name, StorageClassName: 'fast', Capacity: '0' })
  const gone = await api.delete({ kind, name })
  assert.deepEqual([gone.code, gone.object.kind], [200, 'Status'])
})

void test('class and topology of a storage capacity are immutable', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  await api.create({ kind, body })
  await refusesChange(api, { kind, name }, [
    [{ storageClassName: 'slow' }, ['FieldValueInvalid storageClassName'], 'field is immutable'],
    [{ nodeTopology: null }, ['FieldValueInvalid nodeTopology'], 'field is immutable'],
  ])
  const { object } = await api.patch({ kind, name, body: { capacity: null, maximumVolumeSize: '1Gi' } })
  assert.equal(cells(api, kind, object)['Capacity'], '<unset>')
})
