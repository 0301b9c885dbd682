/*
 * Goal: of a new cluster, exactly one member campaigns at once.
 * Method: the settings of the core of each member.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { nodeId } from '../../../../raft/core/types.ts'
import type { MemberRole } from '../../../../raft/core/types.ts'
import { coreConfigOf, defaultLimits, defaultTiming } from '../../../../raft/protocol/node-options.ts'
import { memberInfo } from '../../../scenario/member-infos.ts'

function firstCandidates(roles: readonly MemberRole[]): readonly number[] {
  const members = roles.map((role, at) => memberInfo(at + 1, role))
  const options = { members, timing: defaultTiming, limits: defaultLimits }
  return members
    .map(({ id }) => coreConfigOf({ ...options, id }, new SeededRandom(1)))
    .filter(({ firstElectionTicks }) => firstElectionTicks !== undefined)
    .map(({ id }) => id)
}

void test('the first candidate is the voter with the lowest ID', () => {
  assert.deepEqual(firstCandidates(['voter', 'voter', 'voter']), [1])
  assert.deepEqual(firstCandidates(['learner', 'voter', 'voter']), [2])
})

void test('a member that joins a cluster is not the first candidate', () => {
  const options = { members: [], timing: defaultTiming, limits: defaultLimits, id: nodeId(1) }
  assert.equal(coreConfigOf(options, new SeededRandom(1)).firstElectionTicks, undefined)
})
