/*
 * Goal: no write blocks the thread for long: one with too many values is refused before it is
 * parsed, and a large one yields.
 * Method: creates of as many values as the limit and of one more, and patches whose result has
 * more; yields are counted.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JsonObject } from '../../../../../src/api/json.ts'
import { bodyLimits } from '../../../../../src/api/limits.ts'
import { Fixture, refused } from '../fixture.ts'

const { valuesMax } = bodyLimits

/** Values besides its data: apiVersion, kind, metadata, its name, data. */
const OTHERS = 5

function dataOf(count: number, from = 0): JsonObject {
  return Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${from + at}`, '']))
}

void test('an object with as many values as the limit is stored and can be patched; one more is a 413', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const made = await api.configMap('full', { data: dataOf(valuesMax - OTHERS) })
  assert.equal(made.code, 201)
  const seen = await refused(api.configMap('more', { data: dataOf(valuesMax - OTHERS + 1) }))
  assert.equal(seen.code, 413)
  assert.equal(seen.reason, 'RequestEntityTooLarge')
  assert.match(seen.message, /limit is 65536 values .*, and the body has more/)
  // The object exceeds the limit only by metadata that the server added, so it may be patched.
  const body = { data: { k0: null, k1: null }, metadata: { labels: { a: 'b' } } }
  const labels = await api.patch({ name: 'full', body })
  assert.equal(labels.object.metadata.labels?.['a'], 'b')
})

void test('the result of a merge or strategic merge patch has at most as many values as a body', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const half = valuesMax / 2
  await api.configMap('half', { data: dataOf(half) })
  for (const type of ['merge-patch', 'strategic-merge-patch']) {
    const call = { name: 'half', contentType: `application/${type}+json`, body: { data: dataOf(half, half) } }
    const seen = await refused(api.patch(call))
    assert.equal(seen.code, 413, type)
    assert.match(seen.message, /limit is 65536 values .*, and the result of the patch has more/)
  }
})

void test('a large write yields three more times than a small one', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const turnsDuring = async (name: string, count: number): Promise<number> => {
    const { clock } = api
    const soon = clock.soon.bind(clock)
    let turns = 0
    clock.soon = (action) => {
      turns++
      soon(action)
    }
    await api.configMap(name, { data: dataOf(count) })
    clock.soon = soon
    return turns
  }
  const small = await turnsDuring('small', 10)
  const large = await turnsDuring('large', 10_000)
  assert.equal(large - small, 3)
})
