/*
 * Goal: the work for the field managers of an object does not depend on the number of kinds.
 * Method: an update of an object with many managers, whose lookups of kinds are counted.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { countedKinds } from '../../../../support/fixtures/counted-kinds.ts'
import { Fixture } from '../fixture.ts'

void test('an update of an object with many managers of other versions does not walk through all kinds for each', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const { kinds, reads } = countedKinds(50)
  api.catalog.setCustom(kinds)
  const managedFields = Array.from({ length: 500 }, (_, at) => ({
    ...{ manager: `m${at}`, operation: 'Apply', apiVersion: `g/v${at}` },
    ...{ fieldsType: 'FieldsV1', fieldsV1: { 'f:data': { 'f:x': {} } } },
  }))
  await api.configMap('a', { data: { x: '1' } })
  const before = reads()
  const metadata = { name: 'a', managedFields }
  await api.update({ name: 'a', body: { metadata, data: { x: '1' } } })
  assert.ok(reads() - before < 500, `${reads() - before} reads`)
})
