/*
 * Goal: an object that was accepted can be written again: the limit of values applies to what a
 * client adds, and defaults that the server adds are no reason to refuse the object later.
 * Method: Pods whose defaults exceed the limit, read in JSON and protobuf, sent back unchanged, and
 * patched with nothing. `long/rewrite-stored` fills lists of every kind.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jsonValues } from '../../../../../src/api/codec/value-count.ts'
import type { JsonObject } from '../../../../../src/api/json.ts'
import { bodyLimits } from '../../../../../src/api/limits.ts'
import { namesOf } from '../../../../../src/api/metadata/names.ts'
import { definitionsFor } from '../../../../../src/resources/index.ts'
import { FullObjects } from '../../../../support/generators/full-object.ts'
import { placesOf } from '../../../../support/generators/worst-bodies.ts'
import { Fixture, refused } from '../fixture.ts'
import { checkAgain } from './written-again.ts'

const names = namesOf('k8s.io')
const { valuesMax } = bodyLimits

function podWith(count: number): JsonObject {
  const ports = Array.from({ length: count }, (_, at) => ({ containerPort: at + 1 }))
  const spec = { containers: [{ name: 'c', image: 'i', ports }] }
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec }
}

void test('an object to which defaults added more values than a body may have can be written again, also its status', async (t) => {
  const api = await Fixture.open({ domain: 'k8s.io' })
  t.after(() => api.close())
  const kind = 'v1/Pod'
  const name = 'p'
  await api.create({ kind: 'v1/ServiceAccount', body: { metadata: { name: 'default' } } })
  await api.create({ kind, body: podWith(30_000) })
  const { object } = await api.get({ kind, name })
  const rawBody = JSON.stringify(object)
  const stored = jsonValues(Buffer.from(rawBody))
  assert.ok(stored > valuesMax, `${stored} values`)
  const definition = definitionsFor(names).find((one) => one.kind === 'Pod' && one.version === 'v1')
  assert.ok(definition !== undefined)
  for (const place of placesOf(new FullObjects(names, 1), definition, new Set()).slice(0, 1)) {
    await checkAgain(api, place, kind, name)
  }
  const yaml = { kind, name, rawBody, contentType: 'application/yaml' }
  assert.deepEqual((await api.update(yaml)).object, object)
  assert.deepEqual((await api.update({ kind, name, subresource: 'status', rawBody })).object, object)
  const labels = Object.fromEntries(Array.from({ length: 200 }, (_, at) => [`l${at}`, '']))
  const labelled = { ...object, metadata: { ...object.metadata, labels } } as JsonObject
  assert.equal((await api.update({ kind, name, body: labelled })).code, 200)
})

void test('an update may add only as many values to an object beyond the limit as its metadata needs', async (t) => {
  const api = await Fixture.open({ domain: 'k8s.io' })
  t.after(() => api.close())
  const kind = 'v1/Pod'
  const name = 'p'
  await api.create({ kind: 'v1/ServiceAccount', body: { metadata: { name: 'default' } } })
  await api.create({ kind, body: podWith(30_000) })
  const { object } = await api.get({ kind, name })
  const annotations = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`l${at}`, '']))
  const body = { ...object, metadata: { ...object.metadata, annotations } } as JsonObject
  const seen = await refused(api.update({ kind, name, body }))
  assert.equal(seen.code, 413)
  assert.match(seen.message, /, and the body has more/)
})

void test('an object to which defaults add more values than may be stored is refused when it is created', async (t) => {
  const api = await Fixture.open({ domain: 'k8s.io' })
  t.after(() => api.close())
  await api.create({ kind: 'v1/ServiceAccount', body: { metadata: { name: 'default' } } })
  const volumes = Array.from({ length: 30_000 }, (_, at) => ({ name: `v${at}` }))
  const spec = { containers: [{ name: 'c', image: 'i' }], volumes }
  const body = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, spec }
  assert.ok(jsonValues(Buffer.from(JSON.stringify(body))) <= valuesMax)
  const seen = await refused(api.create({ kind: 'v1/Pod', body }))
  assert.equal(seen.code, 413)
  assert.match(seen.message, /limit is 98304 values .*, and the object with its defaults has more/)
})
