/*
 * Goal: the faults of a seed leave a majority of the voters undamaged. A wrong state may spread to
 * more voters, but a majority keeps its logs and votes.
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
  ['allows damage to one of three members', [], [], 2, true],
  ['forbids damage to a second of three members', [], [2], 3, false],
  ['allows more damage to a member that has lost everything', [], [2], 2, true],
  ['allows one of two members with a wrong state to lose its log', [2, 3], [], 2, true],
  ['forbids that the second of two members with a wrong state loses its log', [2, 3], [2], 3, false],
  ['forbids damage to a sound member while another one has a wrong state', [2], [], 1, false],
] as const) {
  void test(`the quorum guard ${title}`, () => {
    assert.equal(quorumGuard(unsound, voteless).canLose(member), mayLose)
  })
}
