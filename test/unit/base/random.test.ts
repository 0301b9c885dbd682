/*
 * Goal: a seed in a bug report keeps its meaning.
 * Method: the first numbers of a few seeds, computed by an independent implementation of
 * xoshiro128** in Python.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../base/random.ts'

void test('a seed always gives the same numbers', () => {
  const first: readonly (readonly [number, readonly number[]])[] = [
    [0, [1_789_933_344, 44_971_166, 2_521_387_044]],
    [1, [393_288_148, 2_174_103_013, 3_814_759_091, 2_092_745_082, 1_865_176_206]],
    [2 ** 32 - 1, [4_104_197_751, 1_825_856_343, 1_152_209_388, 2_427_537_429]],
  ]
  for (const [seed, numbers] of first) {
    const random = new SeededRandom(seed)
    assert.deepEqual(
      numbers.map(() => random.next()),
      numbers,
    )
  }
})

void test('below, bytes and fork derive their results from the numbers that next returns', () => {
  const first = 393_288_148
  assert.equal(new SeededRandom(1).below(1000), first % 1000)
  assert.equal(new SeededRandom(1).bytes(1)[0], first & 0xff)
  assert.equal(new SeededRandom(1).fork().next(), new SeededRandom(first).next())
})
