/*
 * Goal: the faults of a seed leave a majority of the voters their durable state, and in any case
 * their votes.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyConfiguration, nodeId } from '../../../raft/core/types.ts'
import { QuorumGuard } from '../../simulation/quorum-guard.ts'

function quorumGuard(unsound: readonly number[], voteless: readonly number[]): QuorumGuard {
  const configuration = { ...emptyConfiguration, voters: [1, 2, 3].map(nodeId) }
  return new QuorumGuard({
    configurations: () => [configuration],
    changes: () => [],
    isSound: (id) => !unsound.includes(id) && !voteless.includes(id),
    canVote: (id) => !voteless.includes(id),
  })
}

for (const [title, unsound, voteless, member, mayLose] of [
  ['one of three may be', [], [], 2, true],
  ['a second one may not', [], [2], 3, false],
  ['a member that has lost everything may be damaged again', [], [2], 2, true],
  ['one with a wrong state may be the first that loses its log', [2, 3], [], 2, true],
  ['a second one with a wrong state may not lose its log', [2, 3], [2], 3, false],
  ['the only one with a right state may not be', [2], [], 1, false],
] as const) {
  void test(`the quorum guard decides which members may be damaged: ${title}`, () => {
    assert.equal(quorumGuard(unsound, voteless).canLose(member), mayLose)
  })
}
