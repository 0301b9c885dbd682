/*
 * Goal: the feature level rises to the highest one that every member supports, and never relies on
 * a member that has not reported.
 * Method: tables of reports.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeId } from '../../../../raft/index.ts'
import { nextLevel } from '../../../../src/membership/next-level.ts'

/** @param others the levels that members 2, 3, … reported; null: no recent report */
function next(current: number, own: number, others: readonly (number | null)[]): number | null {
  const reports = new Map(
    others.flatMap((featureLevelMax, at) =>
      featureLevelMax === null ? [] : [[nodeId(at + 2), { featureLevelMax }] as const],
    ),
  )
  const members = [{ id: nodeId(1) }, ...others.map((_, at) => ({ id: nodeId(at + 2) }))]
  return nextLevel({ current, members, self: { id: nodeId(1), featureLevelMax: own }, reports })
}

for (const [current, own, others, expected] of [
  [1, 2, [], 2],
  [2, 2, [], null],
  [1, 2, [2, 2], 2],
  [1, 2, [2, 1], null],
  [1, 1, [2, 2], null],
  [1, 2, [2, null], null],
  [1, 4, [3, 5], 3],
  [3, 4, [3, 5], null],
  [1, 2, [2, 2, 2, null], null],
] as const) {
  void test(`level ${current}, own maximum ${own}, others ${JSON.stringify(others)}: next level ${expected}`, () => {
    assert.equal(next(current, own, others), expected)
  })
}

void test('reports of non-members do not count, and a non-member decides nothing', () => {
  const reports = new Map([[nodeId(9), { featureLevelMax: 1 }]])
  const self = { id: nodeId(1), featureLevelMax: 2 }
  assert.equal(nextLevel({ current: 1, members: [{ id: nodeId(1) }], self, reports }), 2)
  assert.equal(nextLevel({ current: 1, members: [{ id: nodeId(9) }], self, reports }), null)
})
