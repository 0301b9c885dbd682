/*
 * Goal: rare heartbeats delay neither the answer of a client whose leader failed, nor the discovery
 * of a silent follower. Method: one core; the test plays its peers.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logIndex, nodeId, term } from '../../../../raft/core/types.ts'
import { Solo } from './solo.ts'

const options = { electionTicks: 10, heartbeatTicks: 1, quietHeartbeatTicks: 31 }
const [one, two] = [nodeId(1), nodeId(2)]

function follower(): Solo {
  const solo = new Solo({ options, term: 1 })
  const addressed = { kind: 'heartbeat', from: two, to: one, term: term(1) } as const
  solo.receive({ ...addressed, commit: logIndex(0), context: null, quiet: true })
  return solo
}

/** Returns the ticks until it campaigns. */
function ticksToCampaign({ raft }: Solo): number {
  let ticks = 0
  while (raft.status().role === 'follower' && ticks < 1000) {
    raft.tick()
    ticks++
  }
  return ticks
}

void test('a follower waits longer after a quiet heartbeat, and as usual if a client waits for the leader', () => {
  const ticks = ticksToCampaign(follower())
  assert.ok(ticks >= 30 + 10 && ticks < 30 + 20, `${ticks}`)
  const asked = follower()
  for (let tick = 0; tick < 5; tick++) asked.raft.tick()
  asked.raft.expectLeader()
  const fewer = ticksToCampaign(asked)
  assert.ok(fewer >= 10 && fewer < 20, `${fewer}`)
})

void test('a client that waits does not make a late campaign later', () => {
  const solo = follower()
  for (let tick = 0; tick < 30 + 9; tick++) solo.raft.tick()
  solo.raft.expectLeader()
  assert.ok(ticksToCampaign(solo) <= 11)
})

void test('a member without quiet heartbeats confirms none, and its timeout stays', () => {
  const solo = new Solo({ options: { electionTicks: 10, heartbeatTicks: 1 }, term: 1 })
  const addressed = { kind: 'heartbeat', from: two, to: one, term: term(1) } as const
  solo.receive({ ...addressed, commit: logIndex(0), context: null, quiet: true })
  assert.ok(!solo.takeAll('heartbeat-response').some(({ quiet }) => quiet === true))
  assert.ok(ticksToCampaign(solo) < 20)
})
