/*
 * Goal: an object that is nested as deep as a body may be can be changed and deleted like others.
 * Method: the shipped controller and verbs, with a custom kind without a schema below `spec`.
 */
import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import type { Json } from '../../../../src/api/json.ts'
import { garbageCollection } from '../../../../src/controllers/garbage-collection.ts'
import { LocalClient } from '../../../../src/registry/local-client.ts'
import { refused } from '../registry/fixture.ts'
import { defined } from './definition-member.ts'

const spec = { type: 'object', 'x-orch-preserve-unknown-fields': true }
const schema = { openAPIV3Schema: { type: 'object', properties: { spec } } }

function nested(levels: number): Json {
  let value: Json = { x: 1 }
  for (let at = 0; at < levels; at++) value = { a: value }
  return value
}

void test('an object with the most levels can be updated, patched and deleted in the foreground', async () => {
  const member = await defined({ versions: [{ name: 'v1', served: true, storage: true, schema }] })
  const { api } = member
  const { clock, catalog, registry, store } = api
  const errors: unknown[] = []
  const user = { name: 'system:controller', uid: '', groups: [], extra: {} }
  const { controller, informer } = garbageCollection({
    ...{ clock, catalog, store, timeoutMs: 10_000 },
    client: new LocalClient({ registry, clock, user, timeoutMs: 10_000 }),
    kindsApplied: () => member.untilCurrent(),
    onError: (_, cause) => void errors.push(cause),
  })
  informer.start()
  controller.start()
  const call = { kind: 'Widget', name: 'c' }
  const body = { metadata: { name: 'c' }, spec: nested(198) }
  const deeper = { metadata: { name: 'c' }, spec: nested(199) }
  assert.equal((await refused(api.create({ kind: 'Widget', body: deeper }))).code, 400)
  const { object } = await api.create({ kind: 'Widget', body })
  const metadata = { ...object.metadata, labels: { l: '1' } } as never
  assert.equal((await api.update({ ...call, body: { ...object, metadata } })).code, 200)
  assert.equal((await api.patch({ ...call, body: { metadata: { labels: { l: '2' } } } })).code, 200)
  await api.delete({ ...call, query: { propagationPolicy: 'Foreground' } })
  for (let at = 0; at < 20; at++) {
    for (let one = 0; one < 20; one++) await turn()
    clock.advance(500)
  }
  assert.deepEqual(errors, [])
  assert.equal((await refused(api.get(call))).code, 404)
  controller.stop()
  informer.close()
})
