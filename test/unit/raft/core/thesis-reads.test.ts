import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ReadContext } from '../../../../raft/core/message.ts'
import { nodeId, term, logIndex } from '../../../../raft/core/types.ts'
import { cluster, memberInfos } from '../../../scenario/member-infos.ts'
import { Solo } from './solo.ts'

/*
 * Goal: §6.4 of Ongaro's thesis step by step: reads without a log entry.
 * Method: one core with scripted peers.
 */

function open(solo: Solo): ReadContext {
  const answer = solo.raft.readIndex()
  assert.ok(answer.kind === 'accepted')
  solo.work()
  return answer.context
}

function confirm(solo: Solo, from: number, context: ReadContext): void {
  solo.receive({ ...solo.from(from), kind: 'heartbeat-response', context })
}

void test('thesis 6.4: step 1, no round is sent or confirmed before an entry of the term is committed', () => {
  const solo = new Solo({ log: [1], term: 1, commit: 1 })
  solo.lead([2], 'silent')
  const context = open(solo)
  solo.take()
  solo.tick(1)
  assert.deepEqual(
    solo.takeAll('heartbeat').map(({ context: sent }) => sent),
    [null, null],
  )
  for (const from of [2, 3]) confirm(solo, from, context)
  assert.deepEqual(solo.confirmed, [])
})

void test('thesis 6.4: step 2, the read index is the commit index at the time when the round is sent', () => {
  const solo = new Solo()
  solo.lead([2])
  const context = open(solo)
  solo.propose('a')
  solo.acceptAll(3)
  assert.equal(solo.raft.commit, 2)
  confirm(solo, 2, context)
  assert.deepEqual(solo.confirmed, [{ context, index: 1 }])
})

void test('thesis 6.4: step 3, a response to another round is no proof', () => {
  const solo = new Solo()
  solo.lead([2])
  const first = open(solo)
  confirm(solo, 2, first)
  const second = open(solo)
  confirm(solo, 2, first)
  solo.receive({ ...solo.from(3), kind: 'heartbeat-response', context: null })
  solo.acceptAll(3)
  assert.deepEqual(solo.confirmed, [{ context: first, index: 1 }])
  confirm(solo, 3, second)
  assert.equal(solo.confirmed.length, 2)
})

void test('thesis 6.4: step 3, of five voters two others must respond, and learners do not count', () => {
  const solo = new Solo({ configuration: cluster([1, 2, 3, 4, 5], [6, 7]) })
  solo.lead([2, 3])
  const context = open(solo)
  for (const from of [6, 7, 2, 2]) confirm(solo, from, context)
  assert.deepEqual(solo.confirmed, [])
  confirm(solo, 5, context)
  assert.deepEqual(solo.confirmed, [{ context, index: 1 }])
})

void test('thesis 6.4: every heartbeat repeats the read round while a read waits, and no longer', () => {
  const solo = new Solo()
  solo.lead([2])
  const context = open(solo)
  solo.take()
  solo.tick(1)
  assert.deepEqual(
    solo.takeAll('heartbeat').map((heartbeat) => heartbeat.context),
    [context, context],
  )
  confirm(solo, 3, context)
  solo.take()
  solo.tick(1)
  assert.deepEqual(
    solo.takeAll('heartbeat').map((heartbeat) => heartbeat.context),
    [null, null],
  )
})

void test('thesis 6.4: both majorities of a joint configuration confirm a read', () => {
  const solo = new Solo()
  solo.lead([2])
  solo.raft.changeConfiguration({ members: memberInfos([1, 4, 5]) })
  solo.work()
  const context = open(solo)
  confirm(solo, 4, context)
  confirm(solo, 5, context)
  assert.deepEqual(solo.confirmed, [])
  confirm(solo, 3, context)
  assert.deepEqual(solo.confirmed, [{ context, index: 1 }])
})

void test('thesis 6.4: a waiting round needs fewer responses after a voter was removed', () => {
  const solo = new Solo({ configuration: cluster([1, 2, 3, 4]) })
  solo.lead([2, 3])
  const context = open(solo)
  confirm(solo, 2, context)
  assert.deepEqual(solo.confirmed, [], 'two of four')
  solo.raft.changeConfiguration({ members: memberInfos([1, 2, 3]) })
  solo.work()
  solo.tick(1)
  assert.deepEqual(solo.confirmed, [{ context, index: 1 }])
})

void test('thesis 6.4: a response of an earlier term confirms nothing in a later one', () => {
  const solo = new Solo()
  solo.lead([2])
  const first = open(solo)
  const late = { ...solo.from(2), kind: 'heartbeat-response', context: first } as const
  solo.receive({
    kind: 'heartbeat',
    from: nodeId(2),
    to: nodeId(1),
    term: term(4),
    commit: logIndex(0),
    context: null,
  })
  assert.deepEqual(solo.failed, [first])
  solo.tick(10)
  solo.lead([3])
  open(solo)
  solo.receive(late)
  assert.deepEqual(solo.confirmed, [])
})

/** Opens a read that may wait for the next heartbeat. */
function openLater(solo: Solo): ReadContext {
  const answer = solo.raft.readIndex(true)
  assert.ok(answer.kind === 'accepted')
  solo.work()
  return answer.context
}

const contextsOf = (solo: Solo): (number | null)[] =>
  solo.takeAll('heartbeat').map((heartbeat) => heartbeat.context)

void test('a read that may wait is sent with the next heartbeat, and its index is that of its sending', () => {
  const solo = new Solo({ options: { electionTicks: 10, heartbeatTicks: 2 } })
  solo.lead([2])
  solo.take()
  const context = openLater(solo)
  assert.equal(openLater(solo), context, 'all that wait share a round')
  solo.propose('a')
  solo.acceptAll(3)
  assert.deepEqual(contextsOf(solo), [])
  solo.tick(1)
  assert.deepEqual(contextsOf(solo), [])
  confirm(solo, 2, context)
  assert.deepEqual(solo.confirmed, [], 'it was not sent')
  solo.tick(1)
  assert.deepEqual(contextsOf(solo), [context, context])
  confirm(solo, 2, context)
  assert.deepEqual(solo.confirmed, [{ context, index: 2 }])
})

void test('a read that cannot wait takes those that can with it', () => {
  const solo = new Solo()
  solo.lead([2])
  solo.take()
  const later = openLater(solo)
  assert.equal(open(solo), later)
  assert.deepEqual(contextsOf(solo), [later, later])
  assert.notEqual(openLater(solo), later, 'a round that was sent serves no later read')
  confirm(solo, 3, later)
  assert.deepEqual(solo.confirmed, [{ context: later, index: 1 }])
})

void test('a read that may wait is not sent before an entry of the term is committed, and fails with the leadership', () => {
  const solo = new Solo({ log: [1], term: 1, commit: 1 })
  solo.lead([2], 'silent')
  solo.take()
  const context = openLater(solo)
  solo.tick(1)
  assert.deepEqual(contextsOf(solo), [null, null])
  solo.acceptAll(2)
  solo.take()
  solo.tick(1)
  assert.deepEqual(contextsOf(solo), [context, context])
  solo.receive({ ...solo.from(2), term: term(9), kind: 'heartbeat', commit: logIndex(0), context: null })
  assert.deepEqual(solo.failed, [context])
})

void test('a leader that votes alone confirms a read that may wait at once', () => {
  const solo = new Solo({ configuration: cluster([1], [2]) })
  solo.lead([])
  const context = openLater(solo)
  assert.deepEqual(solo.confirmed, [{ context, index: 1 }])
})
