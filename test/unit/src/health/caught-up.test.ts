/*
 * Goal: a member counts as caught up only with a proof, and no longer when the proof is too old.
 * Method: a barrier that opens or fails on command, and time by hand.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConsensusError, noIndex } from '../../../../raft/index.ts'
import type { Freshness, LogIndex } from '../../../../raft/index.ts'
import { CaughtUp } from '../../../../src/health/caught-up.ts'
import { WatchGuard } from '../../../../src/health/watch-guard.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

class Barrier {
  open = true
  requested = 0
  probes = 0
  readonly reads = {
    freshness: null as Freshness | null,
    probeWithHeartbeat: (): void => void this.probes++,
  }

  readonly #clock: ManualClock

  constructor(clock: ManualClock) {
    this.#clock = clock
  }

  barrier(): Promise<LogIndex> {
    this.requested++
    if (!this.open) return Promise.reject(new ConsensusError('timed-out', 'no quorum'))
    const nowMs = this.#clock.monotonicMs()
    this.reads.freshness = { asOfMs: nowMs, confirmedMs: nowMs }
    return Promise.resolve(noIndex)
  }
}

void test('nothing is proven before the first barrier opens', async (t) => {
  const clock = new ManualClock()
  const consensus = new Barrier(clock)
  consensus.open = false
  const caughtUp = new CaughtUp({ consensus, clock, heartbeatMs: 100 })
  t.after(() => caughtUp.close())
  assert.match(caughtUp.failure() ?? '', /not caught up yet/)
  caughtUp.start()
  await clock.advance(1000)
  assert.match(caughtUp.failure() ?? '', /not caught up yet/)
  consensus.open = true
  await clock.advance(100)
  assert.equal(caughtUp.failure(), null)
})

void test('a proof expires, and is renewed automatically', async (t) => {
  const clock = new ManualClock()
  const consensus = new Barrier(clock)
  const caughtUp = new CaughtUp({ consensus, clock, heartbeatMs: 100 })
  t.after(() => caughtUp.close())
  caughtUp.start()
  await clock.advance(5000)
  assert.equal(caughtUp.failure(), null)
  consensus.open = false
  await clock.advance(2000)
  assert.equal(caughtUp.failure(), null, 'two seconds without a response do not make a member unready')
  await clock.advance(3000)
  assert.match(caughtUp.failure() ?? '', /lately/)
  consensus.open = true
  await clock.advance(200)
  assert.equal(caughtUp.failure(), null)
})

void test('a closed instance sends no requests', async () => {
  const clock = new ManualClock()
  const consensus = new Barrier(clock)
  const caughtUp = new CaughtUp({ consensus, clock, heartbeatMs: 100 })
  caughtUp.start()
  await clock.advance(100)
  caughtUp.close()
  const { requested } = consensus
  await clock.advance(5000)
  assert.equal(consensus.requested, requested)
})

void test('watches end once the proof is older than the bound, and again while it stays so', async () => {
  const clock = new ManualClock()
  let ageMs = 0
  let ends = 0
  const guard = new WatchGuard({
    clock,
    proofAgeMs: () => ageMs,
    ageMsMax: 10_000,
    endWatches: () => void ends++,
  })
  guard.start()
  ageMs = 10_000
  await clock.advance(3000)
  assert.equal(ends, 0)
  ageMs = 10_001
  await clock.advance(2000)
  assert.equal(ends, 2)
  guard.close()
  await clock.advance(5000)
  assert.equal(ends, 2)
})

void test('a member whose proofs come with the heartbeats or from clients sends no request of its own', async (t) => {
  const clock = new ManualClock()
  const consensus = new Barrier(clock)
  const caughtUp = new CaughtUp({ consensus, clock, heartbeatMs: 100 })
  t.after(() => caughtUp.close())
  caughtUp.start()
  await clock.advance(0)
  assert.deepEqual([consensus.requested, consensus.probes], [1, 0])
  for (let second = 0; second < 20; second++) {
    await clock.advance(1000)
    const nowMs = clock.monotonicMs()
    consensus.reads.freshness = { asOfMs: nowMs - 600, confirmedMs: nowMs }
  }
  assert.equal(consensus.requested, 1)
  assert.ok(consensus.probes >= 15, `${consensus.probes}`)
  assert.equal(caughtUp.ageMs(), 600)
  await clock.advance(1500)
  assert.equal(consensus.requested, 1)
  await clock.advance(1000)
  assert.equal(consensus.requested, 2, 'none arrived for too long')
})

void test('where heartbeats are so rare that a proof could not come with them in time, members request their own', async (t) => {
  for (const heartbeatMs of [101, 200, 10_000]) {
    const clock = new ManualClock()
    const consensus = new Barrier(clock)
    const caughtUp = new CaughtUp({ consensus, clock, heartbeatMs })
    t.after(() => caughtUp.close())
    caughtUp.start()
    await clock.advance(0)
    let ageMsMax = 0
    for (let looks = 0; looks < 200; looks++) {
      await clock.advance(100)
      ageMsMax = Math.max(ageMsMax, caughtUp.ageMs())
    }
    assert.equal(consensus.probes, 0, 'a request that goes with the heartbeats would be in vain')
    // An election that takes 2 s must not make the member unready.
    assert.ok(ageMsMax <= 1500, `${ageMsMax}`)
  }
})

void test('a proof of a state that another one replaced counts no longer', async (t) => {
  const clock = new ManualClock()
  const consensus = new Barrier(clock)
  const caughtUp = new CaughtUp({ consensus, clock, heartbeatMs: 100 })
  t.after(() => caughtUp.close())
  caughtUp.start()
  await clock.advance(100)
  assert.equal(caughtUp.failure(), null)
  consensus.open = false
  consensus.reads.freshness = null
  assert.match(caughtUp.failure() ?? '', /not caught up yet/)
  await clock.advance(600)
  assert.match(caughtUp.failure() ?? '', /not caught up yet/)
  consensus.open = true
  await clock.advance(100)
  assert.equal(caughtUp.failure(), null)
})
