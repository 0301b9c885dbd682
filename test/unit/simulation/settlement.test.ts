/*
 * Goal: the simulation expects a removed member to learn of its removal only if enough of the voters
 * that it knows can tell it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeId } from '../../../raft/core/types.ts'
import { mustLearnRemoval } from '../../simulation/settlement.ts'

const ids = (...numbers: readonly number[]) => numbers.map(nodeId)

for (const [title, voters, votersOutgoing, telling, expected] of [
  ['a majority of the other voters must tell it', ids(1, 2, 3, 4), null, [2, 3], true],
  ['half of them is not enough', ids(1, 2, 3), null, [2], false],
  ['one without other voters is told by nobody', ids(1), null, [2], false],
  ['of a joint configuration both halves must', ids(1, 4, 7), ids(1, 2, 4), [4, 7], false],
  ['both halves can', ids(1, 4, 7), ids(1, 2, 4), [2, 4, 7], true],
] as const) {
  void test(`a removed member learns of its removal: ${title}`, () => {
    const canTell = (id: number): boolean => telling.some((one) => one === id)
    assert.equal(mustLearnRemoval({ voters, votersOutgoing }, 1, canTell), expected)
  })
}
