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

for (const [title, unsound, voteless, member, spared] of [
  ['the first of three', [], [], 2, true],
  ['not the second', [], [2], 3, false],
  ['again a member that has lost everything', [], [2], 2, true],
  ['one whose state is wrong, as the first that loses its log', [2, 3], [], 2, true],
  ['not a second of them, although its state is wrong as well', [2, 3], [2], 3, false],
  ['not the only one whose state is right', [2], [], 1, false],
] as const) {
  void test(`the quorum guard decides which members may be damaged: ${title}`, () => {
    assert.equal(quorumGuard(unsound, voteless).canLose(member), spared)
  })
}
