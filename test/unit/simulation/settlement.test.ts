/*
 * Goal: the simulation expects a removed member to learn of its removal only if enough of the
 * voters that it knows reject it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeId } from '../../../raft/core/types.ts'
import { mustLearnRemoval } from '../../simulation/settlement.ts'

const ids = (...numbers: readonly number[]) => numbers.map(nodeId)

for (const [title, voters, votersOutgoing, rejecting, expected] of [
  ['a majority of the other voters must reject it', ids(1, 2, 3, 4), null, [2, 3], true],
  ['half of them is not enough', ids(1, 2, 3), null, [2], false],
  ['without other voters it does not', ids(1), null, [2], false],
  [
    'a majority of one half of a joint configuration is not enough',
    ids(1, 4, 7),
    ids(1, 2, 4),
    [4, 7],
    false,
  ],
  [
    'majorities of both halves of a joint configuration are enough',
    ids(1, 4, 7),
    ids(1, 2, 4),
    [2, 4, 7],
    true,
  ],
] as const) {
  void test(`a removed member learns of its removal: ${title}`, () => {
    const rejects = (id: number): boolean => rejecting.some((one) => one === id)
    assert.equal(mustLearnRemoval({ voters, votersOutgoing }, 1, rejects), expected)
  })
}
