/*
 * Goal: a member starts with all timeouts that the options allow, however they divide into ticks,
 * and exactly one member of a new cluster campaigns at once.
 * Method: each heartbeat interval of up to a second with the shortest election timeouts for it; the
 * settings of the core of each member.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { checkCoreConfig } from '../../../../raft/core/config.ts'
import { nodeId } from '../../../../raft/core/types.ts'
import type { MemberRole } from '../../../../raft/core/types.ts'
import {
  checkNodeOptions,
  coreConfigOf,
  defaultLimits,
  defaultTiming,
} from '../../../../raft/protocol/node-options.ts'
import { memberInfo } from '../../../scenario/member-infos.ts'

void test('an election timeout of three heartbeats or more suits the core, whatever a tick is', () => {
  for (let heartbeatMs = 5; heartbeatMs <= 1000; heartbeatMs++) {
    for (const extraMs of [0, 1, 7, 12, 13, 24]) {
      const electionMs = 3 * heartbeatMs + extraMs
      const tickMs = Math.min(defaultTiming.tickMs, heartbeatMs)
      const timing = { heartbeatMs, electionMs, tickMs }
      const options = { id: nodeId(1), members: [], timing, limits: defaultLimits }
      checkNodeOptions(options)
      const config = coreConfigOf(options, new SeededRandom(1))
      assert.doesNotThrow(() => checkCoreConfig(config), `heartbeat ${heartbeatMs}, election ${electionMs}`)
      const { heartbeatTicks, electionTicks, leasePromiseMs } = config
      assert.ok(heartbeatTicks * tickMs <= heartbeatMs + tickMs / 2, `heartbeat ${heartbeatMs}`)
      assert.ok(Math.abs(electionTicks * tickMs - electionMs) <= tickMs / 2, `election ${electionMs}`)
      // A timeout of n ticks takes more than n - 1 of them.
      assert.ok((electionTicks - 1) * tickMs >= (leasePromiseMs ?? 0), `election ${electionMs}`)
    }
  }
})

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
