/*
 * Goal: an object that was accepted can be written again: the limit of values applies to what a
 * client adds, and defaults that the server adds are no reason to refuse the object later.
 * Method: for every kind, each list is filled up to the limit; the stored object is read in JSON
 * and protobuf, sent back unchanged, and patched with nothing. Custom kinds likewise, with a
 * definition that gets defaults later.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeProtobuf } from '../../../../../src/api/codec/protobuf-envelope.ts'
import { jsonValues } from '../../../../../src/api/codec/value-count.ts'
import { ApiError } from '../../../../../src/api/errors/api-error.ts'
import type { JsonObject } from '../../../../../src/api/json.ts'
import { textMember } from '../../../../../src/api/json.ts'
import { bodyLimits } from '../../../../../src/api/limits.ts'
import { namesOf } from '../../../../../src/api/metadata/names.ts'
import { wholeObject } from '../../../../../src/api/schema/shared.ts'
import { apiVersionOf } from '../../../../../src/registry/kinds/definition.ts'
import { hasProtobuf } from '../../../../../src/registry/representations/representation.ts'
import { definitionsFor } from '../../../../../src/resources/index.ts'
import { FullObjects } from '../../../../support/generators/full-object.ts'
import { filledBy, placesOf } from '../../../../support/generators/worst-bodies.ts'
import type { Place } from '../../../../support/generators/worst-bodies.ts'
import { Fixture, refused } from '../fixture.ts'

const names = namesOf('k8s.io')
const { valuesMax } = bodyLimits

/** The fullest body whose values are within the limit. */
function full(place: Place): JsonObject {
  const make = (count: number): JsonObject => filledBy(new FullObjects(names, 2), place, 'distinct', count)
  const valuesOf = (count: number): number => jsonValues(Buffer.from(JSON.stringify(make(count))))
  const each = Math.max((valuesOf(110) - valuesOf(10)) / 100, 1)
  let count = Math.floor((valuesMax - valuesOf(0)) / each)
  while (valuesOf(count) > valuesMax) count = Math.floor(count * 0.98)
  return make(count)
}

async function checkAgain(api: Fixture, place: Place, kind: string, name: string): Promise<void> {
  const { definition } = place
  const what = `${kind}: ${place.key}`
  const read = await api.get({ kind, name })
  const rawBody = JSON.stringify(read.object)
  if (definition.verbs.includes('update')) {
    const put = await api.update({ kind, name, rawBody })
    assert.deepEqual(put.object, read.object, what)
    if (hasProtobuf(definition)) {
      const message = encodeProtobuf(wholeObject(definition.schema), read.object)
      const call = { kind, name, rawBody: message, contentType: names.protobufMediaType }
      assert.deepEqual((await api.update(call)).object, read.object, `${what}, protobuf`)
    }
  }
  if (definition.verbs.includes('patch')) {
    for (const body of [{}, read.object as unknown as JsonObject]) {
      const call = { kind, name, body, contentType: 'application/merge-patch+json' }
      assert.deepEqual((await api.patch(call)).object, read.object, `${what}, patch`)
    }
  }
}

/** Attempts per kind: many fields accept only a few valid values. */
const TRIES = 2

void test('an object that was filled to the limit can be written again as it was read, for every kind', async (t) => {
  const api = await Fixture.open({ domain: 'k8s.io' })
  t.after(() => api.close())
  const filled: string[] = []
  // Parts that kinds have in common, such as the template of Pods, are filled once.
  const seen = new Set<string>()
  for (const definition of definitionsFor(names)) {
    if (!definition.verbs.includes('create') || !definition.verbs.includes('get')) continue
    const kind = `${apiVersionOf(definition)}/${definition.kind}`
    const places = placesOf(new FullObjects(names, 1), definition, seen)
    const inside = places.filter(({ schema, steps }) => schema.type !== 'string' && steps[0] !== 'metadata')
    for (const place of inside.slice(0, TRIES)) {
      const made = await api.create({ kind, body: full(place) }).catch((error: unknown) => {
        assert.ok(error instanceof ApiError, String(error))
        return null
      })
      if (made === null) continue
      await checkAgain(api, place, kind, textMember(made.object.metadata, 'name'))
      filled.push(definition.kind)
      break
    }
  }
  t.diagnostic(filled.join(' '))
  assert.ok(filled.length > 5, filled.join(' '))
})

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
