// Goal: RFC 7386 to the letter. Method: the test cases of its appendix A, and member names with a
// meaning in JavaScript.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Json } from '../../../../../src/api/json.ts'
import { mergePatch } from '../../../../../src/api/patch/merge-patch.ts'

const cases: readonly [original: Json, patch: Json, result: Json][] = [
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
  [{ a: 'b' }, { a: null }, {}],
  [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
  [
    ['a', 'b'],
    ['c', 'd'],
    ['c', 'd'],
  ],
  [{ a: 'b' }, ['c'], ['c']],
  [{ a: 'foo' }, null, null],
  [{ a: 'foo' }, 'bar', 'bar'],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: 'b', c: null }, { a: 'b' }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
]

void test('spec 4.3: a merge patch does what RFC 7386 appendix A shows', () => {
  for (const [original, patch, result] of cases) {
    const before = JSON.stringify(original)
    assert.deepEqual(mergePatch(original, patch), result, JSON.stringify(patch))
    assert.equal(JSON.stringify(original), before)
  }
})

void test('a merge patch cannot reach a prototype', () => {
  const patch = JSON.parse('{"__proto__":{"x":1},"constructor":{"prototype":{"y":1}}}') as Json
  const result = mergePatch({}, patch)
  assert.equal(JSON.stringify(result), '{"__proto__":{"x":1},"constructor":{"prototype":{"y":1}}}')
  assert.equal(({} as { x?: number }).x, undefined)
})
