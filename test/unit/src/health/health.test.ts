/**
 * Goal: readiness follows membership and progress, in both directions; liveness only follows
 * failures that a restart would repair. Method: the checks over a status the test writes, on a
 * clock the test moves.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyConfiguration, logIndex, nodeId } from '../../../../raft/index.ts'
import type { ConsensusStatus } from '../../../../raft/index.ts'
import { defaultHealthBounds, memberHealth } from '../../../../src/health/health.ts'
import type { HealthCheck } from '../../../../src/health/health.ts'
import { FakeConsensus, memberInfo } from '../../../../fixtures/fake-consensus.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

function start(livezGraceMs = 0) {
  const clock = new ManualClock()
  const consensus = new FakeConsensus(clock)
  let silent: string | null = null
  const health = memberHealth({
    consensus,
    clock,
    bounds: defaultHealthBounds,
    silentThread: () => silent,
    livezGraceMs,
    more: [{ name: 'extra', live: false, failure: () => null }],
  })
  const failing = (checks: readonly HealthCheck[]): string[] =>
    checks.filter(({ failure }) => failure() !== null).map(({ name }) => name)
  return {
    clock,
    consensus,
    health,
    unready: () => failing(health.readyz),
    dead: () => failing(health.livez),
    silence: (thread: string | null) => {
      silent = thread
    },
    /** Time passes while the quorum stays in touch. */
    pass: async (ms: number) => {
      await clock.advance(ms)
      consensus.change({ quorumContactMs: clock.monotonicMs() })
    },
  }
}

void test('a healthy member passes every check, and the names of the checks are stable', () => {
  const { health, unready } = start()
  assert.deepEqual(unready(), [])
  assert.deepEqual(
    health.readyz.map(({ name }) => name),
    ['ping', 'threads', 'leader', 'log', 'apply-lag', 'membership', 'extra', 'shutdown'],
  )
  assert.deepEqual(
    health.livez.map(({ name }) => name),
    ['ping', 'threads'],
  )
})

void test('spec 4.5: liveness does not fail before the grace period is over, readiness does', async () => {
  const { clock, dead, unready, silence } = start(5000)
  silence('raft')
  assert.deepEqual([dead(), unready().includes('threads')], [[], true])
  await clock.advance(4999)
  assert.deepEqual(dead(), [])
  await clock.advance(1)
  assert.deepEqual(dead(), ['threads'])
})

void test('without a leader, or without a quorum lately, a member is alive but not ready, until it has them again', async () => {
  const { consensus, clock, unready, dead, pass } = start()
  consensus.change({ leader: null })
  assert.deepEqual(unready(), ['leader'])
  consensus.change({ leader: nodeId(2) })
  assert.deepEqual(unready(), [])
  await clock.advance(defaultHealthBounds.quorumContactMsMax + 1)
  assert.deepEqual(unready(), ['membership'])
  assert.deepEqual(dead(), [])
  await pass(0)
  assert.deepEqual(unready(), [])
})

void test('a log that stands still while entries wait is unready after the bound, slow progress is not', async () => {
  const { consensus, unready, pass } = start()
  consensus.change({ lastIndex: logIndex(20) })
  await pass(defaultHealthBounds.stallMsMax - 100)
  assert.deepEqual(unready(), [])
  consensus.change({ persistedIndex: logIndex(12) })
  await pass(defaultHealthBounds.stallMsMax - 100)
  assert.deepEqual(unready(), [])
  await pass(200)
  assert.deepEqual(unready(), ['log'])
  consensus.change({ persistedIndex: logIndex(20) })
  assert.deepEqual(unready(), [])
})

void test('a member that lags behind what is committed, or stands still, is unready', async () => {
  const { consensus, unready, pass } = start()
  consensus.change({ commit: logIndex(10 + defaultHealthBounds.applyLagEntriesMax + 1) })
  assert.deepEqual(unready(), ['apply-lag'])
  consensus.change({ appliedMemory: logIndex(11) })
  assert.deepEqual(unready(), [])
  await pass(defaultHealthBounds.stallMsMax + 1)
  assert.deepEqual(unready(), ['apply-lag'])
  consensus.change({ appliedMemory: consensus.status.commit })
  assert.deepEqual(unready(), [])
})

void test('only voters and pinned learners are ready', () => {
  const { consensus, unready } = start()
  const { configuration } = consensus.status
  const me = nodeId(1)
  const others = configuration.members.filter(({ id }) => id !== me)
  const voters = configuration.voters.filter((id) => id !== me)
  const as = (wantedRole: 'voter' | 'learner'): void => {
    const members = [{ ...memberInfo(1, 'n1'), role: 'learner' as const, wantedRole }, ...others]
    consensus.change({ configuration: { ...configuration, voters, learners: [me], members } })
  }
  as('voter')
  assert.deepEqual(unready(), ['membership'])
  as('learner')
  assert.deepEqual(unready(), [])
  consensus.change({ configuration: { ...configuration, voters, members: others } })
  assert.deepEqual(unready(), ['membership'])
  consensus.change({ configuration })
  assert.deepEqual(unready(), [])
})

void test('an unready member reports the reason', () => {
  const { consensus, health } = start()
  const { configuration, id: me } = consensus.status
  const others = configuration.members.filter(({ id }) => id !== me)
  const voters = others.map(({ id }) => id)
  const learner = { ...memberInfo(1, 'n1'), role: 'learner' as const }
  const simple = { ...configuration, voters }
  const joint = { ...configuration, voters, votersOutgoing: configuration.voters }
  const rows: readonly (readonly [Partial<ConsensusStatus>, string | null])[] = [
    [{ configuration: emptyConfiguration }, 'this member has not received anything from its cluster yet'],
    [{ configuration: { ...simple, members: others } }, 'this member is not part of the configuration'],
    [
      { configuration: { ...simple, learners: [me], members: [learner, ...others] } },
      'this member is a learner that is still catching up: it is ready once it votes',
    ],
    [{ configuration: joint }, 'this member is being removed'],
    [{ configuration: { ...joint, learnersNext: [me] } }, null],
    [{ configuration, removed: 'it was removed, and by which entry' }, 'it was removed, and by which entry'],
    [{ configuration, removed: null, quorumContactMs: null }, 'no quorum has been reached yet'],
  ]
  for (const [part, expected] of rows) {
    consensus.change(part)
    const check = health.readyz.find(({ name }) => name === 'membership')
    assert.equal(check?.failure(), expected)
  }
})

void test('a silent thread ends liveness, a shutdown only readiness', () => {
  const { health, unready, dead, silence } = start()
  silence('log')
  assert.deepEqual(dead(), ['threads'])
  silence(null)
  health.shutDown()
  assert.deepEqual(unready(), ['shutdown'])
  assert.deepEqual(dead(), [])
})
