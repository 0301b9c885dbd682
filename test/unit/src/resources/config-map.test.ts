/*
 * Goal: ConfigMap as spec 2.2 has it.
 * Method: the shipped verbs on the state machine in memory.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Fixture, causes, refused } from '../registry/fixture.ts'

void test('spec 2.2: keys are letters, digits, -, _ and ., in data and binaryData', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  await api.configMap('good', { data: { 'a-B_1.x': '' }, binaryData: { '.b': 'AAE=' } })
  for (const key of ['a b', 'a/b', '', '..', '..a', 'ä', 'x'.repeat(254)]) {
    for (const member of ['data', 'binaryData']) {
      const seen = await refused(api.configMap('a', { [member]: { [key]: '' } }))
      assert.equal(seen.code, 422)
      assert.equal(causes(seen)[0], `FieldValueInvalid ${member}[${key}]`)
    }
  }
})

void test('spec 2.2: a key may not be in data and binaryData', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const seen = await refused(api.configMap('a', { data: { k: '' }, binaryData: { k: '' } }))
  assert.deepEqual([seen.code, ...causes(seen)], [422, 'FieldValueInvalid data[k]'])
  assert.match(seen.message, /duplicate of key present in binaryData$/)
})

void test('spec 2.2: immutable data stays, metadata may change, and immutable cannot be unset', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  await api.configMap('a', { data: { k: 'v' }, immutable: false })
  await api.patch({ name: 'a', body: { data: { k: 'w' }, immutable: true } })
  const rows: readonly (readonly [object, string])[] = [
    [{ data: { k: 'x' } }, 'FieldValueForbidden data'],
    [{ data: null }, 'FieldValueForbidden data'],
    [{ binaryData: { b: 'AAE=' } }, 'FieldValueForbidden binaryData'],
    [{ immutable: false }, 'FieldValueForbidden immutable'],
    [{ immutable: null }, 'FieldValueForbidden immutable'],
  ]
  for (const [body, cause] of rows) {
    const seen = await refused(api.patch({ name: 'a', rawBody: JSON.stringify(body) }))
    assert.deepEqual([seen.code, ...causes(seen)], [422, cause])
  }
  const got = await api.patch({ name: 'a', body: { metadata: { labels: { a: 'b' } } } })
  assert.deepEqual(got.object.metadata.labels, { a: 'b' })
})

void test('spec 2.2, 8: all values together are at most 1 MiB, counted in bytes', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const half = 512 * 1024
  const binary = Buffer.alloc(half).toString('base64')
  await api.configMap('fits', { data: { a: 'x'.repeat(half) }, binaryData: { b: binary } })
  const seen = await refused(
    api.configMap('a', { data: { a: 'ä'.repeat(half / 2), c: '.' }, binaryData: { b: binary } }),
  )
  assert.deepEqual([seen.code, ...causes(seen)], [422, 'FieldValueTooLong '])
})

void test('empty data is stored as no data', async (t) => {
  const api = await Fixture.open()
  t.after(() => api.close())
  const { object } = await api.configMap('a', { data: {}, binaryData: null })
  assert.deepEqual(Object.keys(object), ['kind', 'apiVersion', 'metadata'])
})
