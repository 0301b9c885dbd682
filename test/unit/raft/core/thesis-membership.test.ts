import assert from 'node:assert/strict'
import { test } from 'node:test'
import { simpleConfiguration, transition } from '../../../../raft/core/conf-change.ts'
import { logIndex, nodeId, term } from '../../../../raft/core/types.ts'
import type { Configuration, Entry } from '../../../../raft/core/types.ts'
import { cluster, memberInfos } from '../../../scenario/member-infos.ts'
import { Solo } from './solo.ts'

/*
 * Goal: chapter 4 of Ongaro's thesis where several rules interact.
 * Method: one core with scripted peers. `thesis.test.ts` has each rule by itself, the transcripts
 * show them between members.
 */

const two = { from: nodeId(2), to: nodeId(1) }
const joint: Configuration = transition(cluster([1, 2, 3]), simpleConfiguration(memberInfos([1, 4, 5])))

function configurationAt(index: number, at: number, configuration: Configuration): Entry {
  return { kind: 'configuration', index: logIndex(index), term: term(at), configuration }
}

/**
 * A follower of leader 2 with a log that ends with the joint configuration from {1,2,3} to {1,4,5},
 * at 2.
 */
function followerInJoint(): Solo {
  const solo = new Solo({ log: [1], term: 1, commit: 1 })
  const append = solo.append(2, 1, [1], 1, 1)
  assert.ok(append.kind === 'append-request')
  solo.receive({ ...append, entries: [configurationAt(2, 1, joint)] })
  solo.take()
  return solo
}

function grant(solo: Solo, kind: 'pre-vote-response' | 'vote-response', from: number): void {
  solo.receive({ kind, from: nodeId(from), to: nodeId(1), term: term(2), granted: true })
}

void test('thesis 4.1: a change of one voter is made directly, and the new majority counts at once', () => {
  const solo = new Solo({ configuration: cluster([1, 2, 3, 4]) })
  solo.lead([2, 3])
  solo.raft.changeConfiguration({ members: memberInfos([1, 2, 3]) })
  solo.work()
  assert.equal(solo.raft.status().configuration.votersOutgoing, null)
  solo.acceptAll(2)
  assert.equal(solo.raft.commit, 2, 'two of three, where before three of four were needed')
})

void test('thesis 4.1: overwritten configurations are reverted one by one, down to that of the base', () => {
  const solo = new Solo({ log: [1], term: 1, commit: 1 })
  const append = solo.append(2, 1, [1], 1, 1)
  assert.ok(append.kind === 'append-request')
  const entries = [
    configurationAt(2, 1, cluster([1, 2, 3, 4])),
    configurationAt(3, 1, cluster([1, 2, 3, 4, 5])),
  ]
  solo.receive({ ...append, entries })
  assert.deepEqual(solo.raft.status().configuration.voters, [1, 2, 3, 4, 5])
  solo.receive(solo.append(3, 2, [1, 1, 2], 2, 1))
  assert.deepEqual(solo.raft.status().configuration.voters, [1, 2, 3, 4])
  solo.receive(solo.append(3, 3, [1, 3], 1, 1))
  assert.deepEqual(solo.raft.status().configuration.voters, [1, 2, 3])
})

void test('thesis 4.2.1: a new learner is sent the log from its beginning, and its promotion counts when appended', () => {
  const solo = new Solo()
  solo.lead([2])
  solo.raft.changeConfiguration({ members: memberInfos([1, 2, 3], [4]) })
  solo.work()
  solo.acceptAll(2)
  solo.take()
  const hint = { hintIndex: logIndex(0), hintTerm: term(0) }
  solo.receive({ ...solo.from(4), kind: 'append-refused', index: logIndex(2), ...hint })
  const [append] = solo.takeAll('append-request').filter(({ to }) => to === 4)
  assert.deepEqual([append?.previousIndex, append?.entries[0]?.index], [0, 1])
  solo.acceptAll(4)
  solo.raft.changeConfiguration({ members: memberInfos([1, 2, 3, 4]) })
  solo.work()
  solo.acceptAll(2)
  assert.equal(solo.raft.commit, 2, 'two of four are no majority')
  solo.acceptAll(4)
  assert.equal(solo.raft.commit, 3)
})

void test('thesis 4.2.1: a learner grants votes, because the candidate decides whose votes count', () => {
  const solo = new Solo({ configuration: cluster([2, 3], [1]) })
  const last = { lastIndex: logIndex(0), lastTerm: term(0) }
  solo.receive({ kind: 'vote-request', ...two, term: term(1), ...last, transfer: false })
  assert.equal(solo.takeOnly('vote-response').granted, true)
})

void test('thesis 4.2.2: a leader that is being removed does not count itself', () => {
  const solo = new Solo({ configuration: cluster([1, 2, 3, 4]) })
  solo.lead([2, 3])
  solo.raft.changeConfiguration({ members: memberInfos([2, 3, 4]) })
  solo.work()
  solo.acceptAll(2)
  assert.equal(solo.raft.commit, 1, 'one of three, although it has the entry itself')
  solo.acceptAll(3)
  assert.deepEqual([solo.raft.commit, solo.raft.status().role], [2, 'follower'])
})

void test('thesis 4.2.2: a leader that is being removed steps down without responses of a majority of the others', () => {
  const solo = new Solo()
  solo.lead([2, 3])
  solo.raft.changeConfiguration({ members: memberInfos([2, 3]) })
  solo.work()
  solo.tick(10)
  solo.receive({ ...solo.from(2), kind: 'heartbeat-response', context: null })
  solo.tick(10)
  assert.equal(solo.raft.status().role, 'follower', 'one of two others is no majority of them')
})

void test('thesis 4.2.3: the lease ends after an election timeout of silence, not before', () => {
  const last = { lastIndex: logIndex(9), lastTerm: term(4) }
  for (const { ticks, answers } of [
    { ticks: 9, answers: 0 },
    { ticks: 10, answers: 1 },
  ]) {
    const solo = new Solo({ options: { random: { below: () => 9, bytes: () => new Uint8Array() } } })
    solo.receive({ kind: 'heartbeat', ...two, term: term(1), commit: logIndex(0), context: null })
    solo.tick(ticks)
    solo.take()
    solo.receive({ kind: 'pre-vote-request', from: nodeId(3), to: nodeId(1), term: term(5), ...last })
    assert.equal(solo.takeAll('pre-vote-response').length, answers, `after ${ticks} ticks`)
  }
})

void test('thesis 4.3: in a joint configuration a candidate needs both majorities', () => {
  const solo = followerInJoint()
  solo.raft.campaign()
  solo.work()
  assert.deepEqual(
    solo.takeAll('pre-vote-request').map(({ to }) => to),
    [2, 3, 4, 5],
  )
  grant(solo, 'pre-vote-response', 4)
  grant(solo, 'pre-vote-response', 5)
  assert.equal(solo.raft.status().role, 'pre-candidate')
  grant(solo, 'pre-vote-response', 2)
  assert.equal(solo.raft.status().role, 'candidate')
  grant(solo, 'vote-response', 2)
  grant(solo, 'vote-response', 3)
  assert.equal(solo.raft.status().role, 'candidate')
  grant(solo, 'vote-response', 4)
  assert.equal(solo.raft.status().role, 'leader')
})

void test('thesis 4.3: a refusal by either majority ends the candidacy', () => {
  const solo = followerInJoint()
  solo.raft.campaign()
  solo.work()
  for (const from of [4, 5]) {
    const refusal = { kind: 'pre-vote-response', from: nodeId(from), to: nodeId(1), granted: false } as const
    solo.receive({ ...refusal, term: solo.raft.term })
  }
  assert.equal(solo.raft.status().role, 'follower')
})

void test('thesis 4.3: a new leader leaves a joint configuration in its log after its first commit', () => {
  const solo = followerInJoint()
  solo.lead([2, 4], 'silent')
  assert.equal(solo.raft.status().role, 'leader')
  solo.acceptAll(4)
  assert.notEqual(solo.raft.status().configuration.votersOutgoing, null)
  solo.acceptAll(3)
  const { commit, configuration, lastIndex } = solo.raft.status()
  assert.deepEqual([commit, lastIndex, configuration.votersOutgoing], [3, 4, null])
})

void test('thesis 4.3: a change begins only after the previous one is left and committed', () => {
  const solo = new Solo()
  solo.lead([2])
  const other = { members: memberInfos([1, 2, 3, 6]) }
  const pending = { kind: 'refused', reason: 'change-pending' }
  solo.raft.changeConfiguration({ members: memberInfos([1, 4, 5]) })
  solo.work()
  assert.deepEqual(solo.raft.changeConfiguration(other), pending)
  solo.acceptAll(4)
  solo.acceptAll(2)
  assert.equal(solo.raft.status().configuration.votersOutgoing, null, 'left, not committed')
  assert.deepEqual(solo.raft.changeConfiguration(other), pending)
  solo.acceptAll(4)
  assert.equal(solo.raft.changeConfiguration(other).kind, 'accepted')
})

void test('thesis 4.3: an outgoing member is replicated to until the joint configuration is left', () => {
  const solo = new Solo()
  solo.lead([2])
  solo.raft.changeConfiguration({ members: memberInfos([1, 4, 5], [3]) })
  solo.work()
  const followed = (): readonly number[] => solo.raft.status().followers.map(({ id }) => id)
  assert.deepEqual(followed(), [2, 3, 4, 5])
  solo.acceptAll(4)
  solo.acceptAll(2)
  assert.deepEqual(followed(), [3, 4, 5])
})
