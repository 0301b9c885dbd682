/*
 * Goal: CSINode as upstream has it: drivers of a node come and go, and do not change.
 * Method: the shipped verbs on the state machine in memory; each rule broken once.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../../src/api/json.ts'
import { Fixture } from '../registry/fixture.ts'
import { cells, refusesChange, refusesNew } from './common/broken-rules.ts'

const kind = 'CSINode'
const name = 'n'
const driver = { name: 'd.example.com', nodeID: 'i', topologyKeys: ['a.io/zone'], allocatable: { count: 5 } }
const body = { metadata: { name }, spec: { drivers: [driver] } }

void test('drivers of a node are validated', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const other = (more: JsonObject) => ({ spec: { drivers: [{ ...driver, ...more }] } })
  const at = 'spec.drivers[0]'
  await refusesNew(api, { kind, body }, [
    [other({ name: '' }), [`FieldValueRequired ${at}.name`]],
    [other({ name: 'a_b' }), [`FieldValueInvalid ${at}.name`]],
    [other({ name: 'd'.repeat(64) }), [`FieldValueTooLong ${at}.name`]],
    [other({ nodeID: '' }), [`FieldValueRequired ${at}.nodeID`]],
    [other({ nodeID: 'i'.repeat(193) }), [`FieldValueInvalid ${at}.nodeID`], '192 characters'],
    [other({ topologyKeys: ['a', 'a'] }), [`FieldValueDuplicate ${at}.topologyKeys`]],
    [other({ topologyKeys: ['a b'] }), [`FieldValueInvalid ${at}.topologyKeys`], 'name part'],
    [other({ allocatable: { count: -1 } }), [`FieldValueInvalid ${at}.allocatable.count`]],
    [{ spec: { drivers: [driver, driver] } }, ['FieldValueDuplicate spec.drivers[1].name']],
  ])
  for (const [index, drivers] of [null, []].entries()) {
    const { object } = await api.create({
      kind,
      body: { metadata: { name: `n${index}` }, spec: { drivers } },
    })
    assert.deepEqual(object['spec'], { drivers: null })
  }
})

void test('a driver of a node is immutable; drivers can be added and removed', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const { object } = await api.create({ kind, body })
  assert.deepEqual(cells(api, kind, object), { Name: name, Drivers: 1 })
  const second = { name: 'e', nodeID: 'j' }
  await refusesChange(api, { kind, name }, [
    [
      { spec: { drivers: [second, { ...driver, nodeID: 'other' }] } },
      ['FieldValueInvalid spec.drivers[1]'],
      'field is immutable',
    ],
  ])
  const strategic = { contentType: 'application/strategic-merge-patch+json' }
  const both = await api.patch({ kind, name, ...strategic, body: { spec: { drivers: [second] } } })
  assert.equal(cells(api, kind, both.object)['Drivers'], 2)
  const { object: left } = await api.patch({ kind, name, body: { spec: { drivers: [second] } } })
  assert.deepEqual(left['spec'], { drivers: [{ ...second, topologyKeys: null }] })
})
