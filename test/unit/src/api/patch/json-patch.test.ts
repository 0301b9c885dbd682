// Goal: JSON patches do what RFC 6902 says and what upstream's library adds. Method: examples, then
// random patches against fast-json-patch, which knows neither negative indices nor null for
// missing.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import oracle from 'fast-json-patch'
import { ApiError } from '../../../../../src/api/errors/api-error.ts'
import type { Json } from '../../../../../src/api/json.ts'
import { applyJsonPatch } from '../../../../../src/api/patch/json-patch.ts'
import { fc } from '../../../../support/generators/fast-check.ts'

const good: readonly [name: string, document: Json, patch: Json, result: Json][] = [
  ['adds a member', { a: 1 }, [{ op: 'add', path: '/b', value: 2 }], { a: 1, b: 2 }],
  ['adds to the end of a list', [1], [{ op: 'add', path: '/-', value: 2 }], [1, 2]],
  ['inserts before an element', [1, 3], [{ op: 'add', path: '/1', value: 2 }], [1, 2, 3]],
  ['counts from the end', [1, 2, 3], [{ op: 'remove', path: '/-1' }], [1, 2]],
  ['inserts at the very end with -1', [1, 2], [{ op: 'add', path: '/-1', value: 3 }], [1, 2, 3]],
  ['moves', { a: { b: 1 } }, [{ op: 'move', from: '/a/b', path: '/c' }], { a: {}, c: 1 }],
  [
    'copies',
    { a: [1] },
    [
      { op: 'copy', from: '/a', path: '/b' },
      { op: 'add', path: '/b/-', value: 2 },
    ],
    { a: [1], b: [1, 2] },
  ],
  ['replaces the root', { a: 1 }, [{ op: 'replace', path: '', value: { b: 1 } }], { b: 1 }],
  [
    'reads escapes',
    { 'a/b': 1, 'c~d': 2 },
    [
      { op: 'remove', path: '/a~1b' },
      { op: 'remove', path: '/c~0d' },
    ],
    {},
  ],
  [
    'finds null for a missing member in a test',
    { a: 1 },
    [{ op: 'test', path: '/b', value: null }],
    { a: 1 },
  ],
  [
    'ignores the order of members in a test',
    { a: { x: 1, y: 2 } },
    [{ op: 'test', path: '/a', value: { y: 2, x: 1 } }],
    { a: { x: 1, y: 2 } },
  ],
]

for (const [name, document, patch, result] of good) {
  void test(`a JSON patch ${name}`, () => {
    assert.deepEqual(applyJsonPatch(document, patch), result)
  })
}

void test('an invalid JSON patch is a 400', () => {
  for (const patch of [
    {},
    [1],
    [{ op: 'jump', path: '/a' }],
    [{ op: 'add', path: '/a' }],
    [{ op: 'add', path: 'a', value: 1 }],
    [{ op: 'add', path: '/~2', value: 1 }],
    [{ op: 'move', path: '/a' }],
  ] as Json[]) {
    assert.throws(
      () => applyJsonPatch({ a: 1 }, patch),
      (error) => error instanceof ApiError && error.code === 'BadRequest',
      JSON.stringify(patch),
    )
  }
})

void test('a patch that does not apply is a 422 and changes nothing', () => {
  const document = { a: { b: [1, 2] } }
  for (const last of [
    { op: 'test', path: '/a/b/0', value: 7 },
    { op: 'test', path: '/x/y', value: null },
    { op: 'remove', path: '/x' },
    { op: 'replace', path: '/x', value: 1 },
    { op: 'add', path: '/a/b/9', value: 1 },
    { op: 'add', path: '/a/b/01', value: 1 },
    { op: 'add', path: '/a/c/d', value: 1 },
    { op: 'move', from: '/a', path: '/a/z' },
    { op: 'remove', path: '/toString' },
    { op: 'remove', path: '' },
  ]) {
    assert.throws(
      () => applyJsonPatch(document, [{ op: 'add', path: '/a/b/-', value: 3 }, last]),
      (error) => error instanceof ApiError && error.code === 'Invalid',
      JSON.stringify(last),
    )
    assert.deepEqual(document, { a: { b: [1, 2] } })
  }
})

void test('the operations of a patch and the values that it copies are limited', () => {
  const many = Array.from({ length: 10_001 }, () => ({ op: 'test', path: '', value: {} }))
  const doubling = [
    { op: 'add', path: '/a', value: ['x'.repeat(1000)] },
    ...Array.from({ length: 40 }, () => ({ op: 'copy', from: '/a', path: '/a/-' })),
  ]
  for (const patch of [many, doubling]) {
    assert.throws(
      () => applyJsonPatch({}, patch),
      (error) => error instanceof ApiError && error.code === 'RequestEntityTooLarge',
    )
  }
})

void test('__proto__ is a member like any other', () => {
  const result = applyJsonPatch({}, [{ op: 'add', path: '/__proto__', value: { a: 1 } }])
  assert.equal(JSON.stringify(result), '{"__proto__":{"a":1}}')
  assert.equal(({} as { a?: number }).a, undefined)
})

void test('random patches agree with another implementation', () => {
  const step = fc.constantFrom('a', 'b', '0', '1', '-')
  const path = fc.array(step, { minLength: 1, maxLength: 3 }).map((steps) => `/${steps.join('/')}`)
  const value: fc.Arbitrary<Json> = fc.constantFrom<Json>(1, 'x', [], {}, [1, 2], { a: [1], b: {} })
  const operation = fc.oneof(
    fc.record({ op: fc.constantFrom('add', 'replace', 'test'), path, value }),
    fc.record({ op: fc.constant('remove'), path }),
    fc.record({ op: fc.constantFrom('move', 'copy'), path, from: path }),
  )
  fc.assert(
    fc.property(fc.array(operation, { maxLength: 6 }), (operations) => {
      const document = { a: [1, { b: 2 }], b: { a: 1 } }
      const text = JSON.stringify(operations)
      let expected: Json | undefined
      try {
        expected = oracle.applyPatch(
          structuredClone<unknown>(document),
          JSON.parse(text) as never,
          true,
          false,
        ).newDocument as Json
      } catch {
        expected = undefined
      }
      let actual: Json | undefined
      try {
        actual = applyJsonPatch(document, JSON.parse(text) as Json)
      } catch (error) {
        assert.ok(error instanceof ApiError)
      }
      assert.deepEqual(document, { a: [1, { b: 2 }], b: { a: 1 } })
      assert.deepEqual(actual, expected)
    }),
    { numRuns: 2000 },
  )
})
