/*
 * Goal: rare heartbeats delay neither the answer of a client whose leader failed, nor the discovery
 * of a silent follower. Method: one core; the test plays its peers.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logIndex, nodeId, term } from '../../../../raft/core/types.ts'
import type { NodeId } from '../../../../raft/core/types.ts'
import { cluster } from '../../../scenario/member-infos.ts'
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

void test('a follower waits longer after a quiet heartbeat, and the usual time if a client waits for the leader', () => {
  const ticks = ticksToCampaign(follower())
  assert.ok(ticks >= 61 + 10 && ticks < 61 + 20, `${ticks}`)
  const asked = follower()
  for (let tick = 0; tick < 5; tick++) asked.raft.tick()
  asked.raft.expectLeader()
  const fewer = ticksToCampaign(asked)
  assert.ok(fewer >= 10 && fewer < 20, `${fewer}`)
})

void test('a waiting client does not postpone a campaign that is due soon', () => {
  const solo = follower()
  for (let tick = 0; tick < 61 + 9; tick++) solo.raft.tick()
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

void test('a waiting client does not shorten the wait of a learner: a leader that votes alone answers its reads without a heartbeat', () => {
  const solo = new Solo({ options, term: 1, configuration: cluster([2], [1]) })
  const addressed = { kind: 'heartbeat', from: two, to: one, term: term(1) } as const
  solo.receive({ ...addressed, commit: logIndex(0), context: null, quiet: true })
  solo.raft.expectLeader()
  for (let tick = 0; tick < 61 + 9; tick++) solo.raft.tick()
  assert.equal(solo.raft.leader, two)
})

/** A leader whose followers have confirmed quiet heartbeats. */
function quietLeader(): Solo {
  const solo = new Solo({ options: { ...options, quietHeartbeatTicks: 5 } })
  solo.lead([2, 3])
  for (let tick = 0; tick < 15; tick++) {
    solo.raft.tick()
    solo.work()
    for (const { to, quiet } of solo.takeAll('heartbeat')) {
      const { quiet: confirmed, ...other } = confirmation(solo, to)
      solo.receive(quiet === true ? { ...other, quiet: confirmed } : other)
      if (quiet === true && to === 3) return solo
    }
  }
  return assert.fail('it is not quiet')
}

function confirmation({ raft }: Solo, from: NodeId) {
  return { kind: 'heartbeat-response', from, to: one, term: raft.term, context: null, quiet: true } as const
}

void test('a leader that ends its quiet heartbeats, as after a delay of its own, sends frequent ones again', () => {
  const solo = quietLeader()
  solo.raft.tick()
  solo.work()
  assert.equal(solo.takeAll('heartbeat').length, 0)
  solo.raft.pass(1, true)
  solo.raft.tick()
  solo.work()
  assert.ok(solo.takeAll('heartbeat').every(({ quiet }) => quiet === undefined))
  solo.raft.tick()
  solo.work()
  assert.equal(solo.takeAll('heartbeat').length, 2)
})

const isActive = (solo: Solo): boolean | undefined =>
  solo.raft.status().followers.find(({ id }) => id === two)?.recentlyActive

void test('a leader with something to replicate notices a silent follower after the usual time', () => {
  const solo = quietLeader()
  solo.propose('a')
  for (let tick = 0; tick < 11; tick++) solo.raft.tick()
  assert.equal(isActive(solo), false)
  const late = quietLeader()
  late.propose('a')
  late.receive(confirmation(late, two))
  for (let tick = 0; tick < 11; tick++) late.raft.tick()
  assert.equal(isActive(late), false, 'a late response makes no difference')
})

void test('a read that waits for a heartbeat does not make quiet heartbeats more frequent, an urgent one does', () => {
  const solo = quietLeader()
  solo.receive(confirmation(solo, two))
  solo.receive(confirmation(solo, nodeId(3)))
  solo.work()
  solo.take()
  const ticks = solo.raft.ticksUntilDue
  assert.ok(ticks > 1, `${ticks}`)
  assert.equal(solo.raft.readIndex(true).kind, 'accepted')
  solo.work()
  assert.equal(solo.raft.ticksUntilDue, ticks)
  for (let tick = 0; tick < ticks; tick++) solo.raft.tick()
  solo.work()
  assert.equal(solo.takeAll('heartbeat').length, 2)
  assert.equal(solo.raft.ticksUntilDue, ticks, 'if it was lost, the next heartbeat repeats it')
  solo.raft.readIndex()
  solo.work()
  assert.equal(solo.raft.ticksUntilDue, 1, 'it may have been lost')
})
