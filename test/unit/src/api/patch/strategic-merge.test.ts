// Goal: strategic merge patches as clients send them. Method: one rule per case, on a schema with
// each kind of list.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ApiError } from '../../../../../src/api/errors/api-error.ts'
import type { JsonObject } from '../../../../../src/api/json.ts'
import { strategicMerge } from '../../../../../src/api/patch/strategic-merge.ts'
import type { ObjectSchema } from '../../../../../src/api/schema/schema.ts'
import { wholeObject } from '../../../../../src/api/schema/shared.ts'
import { countSteps } from '../../../../support/tools/step-count.ts'

const item: ObjectSchema = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    image: { type: 'string' },
    args: { type: 'list', items: { type: 'string' } },
    tags: { type: 'list', items: { type: 'string' }, patchStrategy: 'merge' },
  },
}
const schema = wholeObject({
  type: 'object',
  properties: {
    data: { type: 'map', values: { type: 'string' } },
    parts: { type: 'list', items: item, patchMergeKey: 'name', patchStrategy: 'merge' },
    plain: { type: 'list', items: item },
    volume: { type: 'object', properties: { name: { type: 'string' }, a: item, b: item } },
  },
})

function merged(original: JsonObject, patch: JsonObject): JsonObject {
  const before = JSON.stringify([original, patch])
  const result = strategicMerge(schema, original, patch)
  assert.equal(JSON.stringify([original, patch]), before, 'neither side is changed')
  return result
}

const parts = [
  { name: 'a', image: '1', tags: ['x'] },
  { name: 'b', image: '2' },
  { name: 'c', image: '3' },
]

void test('spec 4.3: maps merge, null removes, unknown members merge too', () => {
  assert.deepEqual(merged({ data: { a: '1', b: '2' } }, { data: { a: null, c: '3' }, more: { x: [1] } }), {
    data: { b: '2', c: '3' },
    more: { x: [1] },
  })
})

void test('lists with a merge key merge by it and keep their order', () => {
  assert.deepEqual(merged({ parts }, { parts: [{ name: 'b', image: '9', args: ['z'] }] }), {
    parts: [parts[0], { name: 'b', image: '9', args: ['z'] }, parts[2]],
  })
})

void test('new elements are placed as the patch orders them', () => {
  const result = merged({ parts }, { parts: [{ name: 'new' }, { name: 'b' }] })
  assert.deepEqual(
    (result['parts'] as JsonObject[]).map((part) => part['name']),
    ['new', 'a', 'b', 'c'],
  )
})

void test('lists without a strategy are replaced', () => {
  assert.deepEqual(merged({ plain: parts }, { plain: [{ name: 'z' }] }), { plain: [{ name: 'z' }] })
})

void test('$patch: delete removes an element, replace replaces a list or object as a whole', () => {
  assert.deepEqual(merged({ parts }, { parts: [{ name: 'b', $patch: 'delete' }] }), {
    parts: [parts[0], parts[2]],
  })
  assert.deepEqual(merged({ parts }, { parts: [{ name: 'z' }, { $patch: 'replace' }] }), {
    parts: [{ name: 'z' }],
  })
  assert.deepEqual(merged({ data: { a: '1' } }, { data: { b: '2', $patch: 'replace' } }), {
    data: { b: '2' },
  })
  assert.deepEqual(merged({ data: { a: '1' } }, { data: { $patch: 'delete' } }), { data: {} })
})

void test('scalar lists are united, and $deleteFromPrimitiveList removes elements', () => {
  const metadata = { name: 'x', finalizers: ['a/1', 'a/2'] }
  assert.deepEqual(merged({ metadata }, { metadata: { finalizers: ['a/3', 'a/1'] } }), {
    metadata: { name: 'x', finalizers: ['a/3', 'a/1', 'a/2'] },
  })
  assert.deepEqual(
    merged(
      { metadata },
      {
        metadata: {
          '$deleteFromPrimitiveList/finalizers': ['a/1'],
          '$setElementOrder/finalizers': ['a/3', 'a/2'],
          finalizers: ['a/3'],
        },
      },
    ),
    { metadata: { name: 'x', finalizers: ['a/3', 'a/2'] } },
  )
})

void test('$setElementOrder orders the elements that it lists; other elements keep their neighbours', () => {
  const result = merged(
    { parts },
    { parts: [{ name: 'd' }], '$setElementOrder/parts': [{ name: 'd' }, { name: 'c' }, { name: 'a' }] },
  )
  assert.deepEqual(
    (result['parts'] as JsonObject[]).map((part) => part['name']),
    ['d', 'b', 'c', 'a'],
  )
  assert.throws(
    () => merged({ parts }, { parts: [{ name: 'd' }], '$setElementOrder/parts': [{ name: 'a' }] }),
    ApiError,
  )
})

void test('$retainKeys removes the members that it does not list', () => {
  const original = { volume: { name: 'v', a: { name: 'x' } } }
  const volume = { $retainKeys: ['name', 'b'], name: 'v', b: { name: 'y' } }
  assert.deepEqual(merged(original, { volume }), { volume: { name: 'v', b: { name: 'y' } } })
  assert.throws(() => merged(original, { volume: { $retainKeys: ['name'], b: {} } }), ApiError)
})

void test('directives on new values are applied and never stored', () => {
  assert.deepEqual(
    merged(
      {},
      {
        parts: [
          { name: 'a', '$setElementOrder/tags': ['x'], tags: ['x'] },
          { name: 'b', $patch: 'delete' },
        ],
        volume: { $retainKeys: ['name'], name: 'v', a: null },
      },
    ),
    { parts: [{ name: 'a', tags: ['x'] }], volume: { name: 'v' } },
  )
})

void test('a malformed patch is a 400', () => {
  for (const patch of [
    { data: { $patch: 'explode' } },
    { parts: [{ image: 'no name' }] },
    { parts: [{ name: 'a', $patch: 'merge' }] },
    { parts: [{ name: 'a' }, 'b'] },
    { '$setElementOrder/parts': {} },
    { volume: { $retainKeys: 'name' } },
  ] as JsonObject[]) {
    assert.throws(
      () => merged({ parts }, patch),
      (error) => error instanceof ApiError && error.code === 'BadRequest',
      JSON.stringify(patch),
    )
  }
})

void test('deleted elements are removed, and new ones with the same key stay', () => {
  const parts = [{ name: 'a', image: '1' }, { name: 'b' }, { name: 'c' }]
  const patch = {
    parts: [
      { name: 'a', $patch: 'delete' },
      { name: 'a', args: ['x'] },
      { name: 'b', $patch: 'delete' },
      { name: 'd', $patch: 'delete' },
    ],
  }
  assert.deepEqual(merged({ parts }, patch)['parts'], [{ name: 'a', args: ['x'] }, { name: 'c' }])
})

void test('a patch that names one element repeatedly, each time with more members, hits the limit', () => {
  const parts = Array.from({ length: 10_000 }, (_, at) => ({ name: 'a', [`x${at}`]: '' }))
  assert.throws(
    () => merged({}, { parts }),
    (error) => error instanceof ApiError && error.code === 'RequestEntityTooLarge',
  )
})

void test('a patch that names a large element repeatedly does not copy it each time', async () => {
  const labels = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`k${at}`, '']))
  const parts = Array.from({ length: 190 }, (_, at) => ({ name: 'a', labels: { [`x${at}`]: '' } }))
  const steps = await countSteps(() => {
    assert.throws(
      () => merged({ parts: [{ name: 'a', labels }] }, { parts }),
      (error) => error instanceof ApiError && error.code === 'RequestEntityTooLarge',
    )
    return Promise.resolve()
  })
  assert.ok(steps < 1_000_000, `${steps} steps`)
})
