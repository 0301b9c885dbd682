/*
 * Goal: a free value is found wherever it is, and the work for all picks is bounded.
 * Method: ranges with few or no free offsets and a seeded generator; the lookups are counted.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../../base/random.ts'
import { FreeOffsets } from '../../../../../src/resources/services/free-offsets.ts'

const random = new SeededRandom(5)

void test('the only free offset is found, and each offset is picked once', () => {
  for (let free = 1; free < 50; free++) {
    const offsets = new FreeOffsets({ from: 1, count: 50 }, (offset) => offset !== free, random)
    assert.deepEqual([offsets.pick(), offsets.pick()], [free, null])
  }
  const offsets = new FreeOffsets({ from: 0, count: 1000 }, () => false, random)
  const picked = Array.from({ length: 1000 }, () => offsets.pick())
  assert.equal(new Set(picked).size, 1000)
  assert.equal(offsets.pick(), null)
})

void test('offsets below the first are not picked, and from an empty range nothing is picked', () => {
  const offsets = new FreeOffsets({ from: 3, count: 5 }, () => false, random)
  assert.deepEqual([offsets.pick(), offsets.pick()].sort(), [3, 4])
  assert.equal(offsets.pick(), null)
  assert.equal(new FreeOffsets({ from: 1, count: 1 }, () => false, random).pick(), null)
  assert.equal(new FreeOffsets({ from: 1, count: -1 }, () => false, random).pick(), null)
})

void test('all picks of a request look at a bounded number of offsets', () => {
  let looked = 0
  const isTaken = (): boolean => {
    looked++
    return true
  }
  const offsets = new FreeOffsets({ from: 0, count: 1_000_000 }, isTaken, random)
  for (let pick = 0; pick < 100; pick++) assert.equal(offsets.pick(), null)
  assert.ok(looked <= 65_536 + 16, String(looked))
})
