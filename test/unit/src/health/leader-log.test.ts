/*
 * Goal: every new leader is logged with one line, with the time without a leader.
 * Method: states of consensus as the raft thread publishes them, with a manual clock.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logIndex, nodeId, term } from '../../../../raft/index.ts'
import { logLeaderChanges } from '../../../../src/health/leader-log.ts'
import { FakeConsensus } from '../../../../fixtures/fake-consensus.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

void test('a leader is logged once per term, with the time since the last contact under the previous one', async () => {
  const clock = new ManualClock()
  const consensus = new FakeConsensus(clock)
  const reported: object[] = []
  const log = { info: (facts: object, words: string) => void reported.push({ ...facts, words }) }
  const end = logLeaderChanges({ consensus, clock, log: log as never })
  assert.deepEqual(reported.splice(0), [{ leader: 'n1', term: 3, self: true, words: 'new leader' }])
  consensus.change({ commit: logIndex(11), quorumContactMs: clock.monotonicMs() })
  await clock.advance(300)
  // This member campaigns itself, without success at first.
  consensus.change({ leader: null, role: 'candidate', term: term(4) })
  await clock.advance(150)
  assert.deepEqual(reported, [])
  consensus.change({
    leader: nodeId(2),
    role: 'follower',
    term: term(5),
    quorumContactMs: clock.monotonicMs(),
  })
  consensus.change({ commit: logIndex(12) })
  assert.deepEqual(reported.splice(0), [{ leader: 'n2', term: 5, gapMs: 450, words: 'new leader' }])
  await clock.advance(50)
  // The same leader, elected again before its loss was noticed.
  consensus.change({ term: term(6) })
  assert.deepEqual(reported.splice(0), [{ leader: 'n2', term: 6, gapMs: 50, words: 'new leader' }])
  end()
  consensus.change({ leader: nodeId(3), term: term(7) })
  assert.deepEqual(reported, [])
})
