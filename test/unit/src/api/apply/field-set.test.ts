/*
 * Goal: uniting many sets at once gives the same as uniting them one after the other.
 * Method: random sets.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../../base/random.ts'
import { emptySet, pathsOf, setOfPaths, union, unionOfAll } from '../../../../../src/api/apply/field-set.ts'
import type { FieldSet } from '../../../../../src/api/apply/field-set.ts'

function texts(set: FieldSet): readonly string[] {
  return [...pathsOf(set)].map((path) => path.join(' ')).sort()
}

void test('the union of many sets has the paths of each', () => {
  const random = new SeededRandom(5)
  for (let round = 0; round < 200; round++) {
    const sets = Array.from({ length: random.below(8) }, () =>
      setOfPaths(
        Array.from({ length: random.below(6) }, () =>
          Array.from({ length: 1 + random.below(3) }, () => `f:${'abc'[random.below(3)] ?? ''}`),
        ),
      ),
    )
    assert.deepEqual(texts(unionOfAll(sets)), texts(sets.reduce(union, emptySet)))
  }
})
