/*
 * Goal: objects with the same values share one row, and rows that are forgotten cost only memory.
 * Method: rows by hand, within a small limit.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SharedRows } from '../../../../../src/registry/kinds/shared-rows.ts'

void test('equal values are one row, and different ones are never mixed up', () => {
  const rows = new SharedRows(100_000)
  const different = [[], [''], ['a'], ['a', ''], ['a","b'], ['a', 'b'], ['b', 'a'], ['\u0000'], ['\ud800']]
  const first = different.map((values) => rows.of(values))
  assert.deepEqual(first, different)
  assert.equal(rows.size, different.length)
  for (const [at, values] of different.entries()) assert.equal(rows.of([...values]), first[at])
})

void test('rows are forgotten at the limit, and stay what they are', () => {
  const rows = new SharedRows(2000)
  const kept = Array.from({ length: 500 }, (_, at) => rows.of([`n${at}`]))
  assert.ok(rows.size > 0 && rows.size < 15, `${rows.size} rows are remembered`)
  for (const [at, row] of kept.entries()) assert.deepEqual(row, [`n${at}`])
  assert.notEqual(rows.of(['n0']), kept[0])
  assert.deepEqual(rows.of(['n0']), kept[0])
})

void test('a row that exceeds the limit alone is not remembered', () => {
  const rows = new SharedRows(2000)
  const small = rows.of(['n1'])
  const large = ['x'.repeat(2000)]
  assert.deepEqual(rows.of(large), large)
  assert.equal(rows.size, 1)
  assert.equal(rows.of(['n1']), small)
})
