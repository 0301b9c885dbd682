/*
 * Goal: one round serves all callers that wait when it is sent, and no caller is served by a round
 * sent before.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logIndex } from '../../../../raft/core/types.ts'
import { ReadBarrier } from '../../../../raft/node/read-barrier.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

function bench(options: { waitersMax?: number; roundsMax?: number } = {}) {
  const clock = new ManualClock()
  const sent: number[] = []
  const barrier = new ReadBarrier({
    ...{ clock, waitersMax: 100, roundsMax: 1, retryMs: 100, sweepMs: 20 },
    ...options,
    send: (round) => sent.push(round),
  })
  const wait = (timeoutMs = 1000): Promise<number> => barrier.wait(clock.monotonicMs() + timeoutMs)
  return { clock, sent, barrier, wait }
}

async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  const mark = Symbol('pending')
  const first = await Promise.race([promise.catch(() => null), Promise.resolve(mark)])
  return first !== mark
}

void test('callers of one turn share a round and resolve once its index is applied', async () => {
  const { clock, sent, barrier, wait } = bench()
  const waits = [wait(), wait(), wait()]
  assert.equal(sent.length, 0)
  await clock.advance(0)
  assert.deepEqual(sent, [1])
  barrier.answered(1, logIndex(5))
  barrier.appliedUpTo(logIndex(4))
  assert.equal(await isSettled(waits[0] as Promise<number>), false)
  barrier.appliedUpTo(logIndex(6))
  assert.deepEqual(await Promise.all(waits), [6, 6, 6])
  assert.equal(barrier.waiting, 0)
})

void test('a caller after a round was sent waits for the next one', async () => {
  const { clock, sent, barrier, wait } = bench()
  barrier.appliedUpTo(logIndex(9))
  const early = wait()
  await clock.advance(0)
  const late = wait()
  await clock.advance(0)
  assert.deepEqual(sent, [1], 'one round at a time')
  barrier.answered(1, logIndex(5))
  assert.equal(await early, 9)
  assert.equal(await isSettled(late), false)
  await clock.advance(0)
  assert.deepEqual(sent, [1, 2])
  barrier.answered(2, logIndex(5))
  assert.equal(await late, 9)
})

void test('a refused, a lost and an orphaned round are repeated with a new number', async () => {
  const { clock, sent, barrier, wait } = bench()
  const waiting = wait(10_000)
  await clock.advance(0)
  barrier.answered(1, null)
  await clock.advance(25)
  assert.deepEqual(sent, [1, 2])
  await clock.advance(150)
  assert.deepEqual(sent, [1, 2, 3], 'the second was lost')
  barrier.leaderChanged()
  await clock.advance(0)
  assert.deepEqual(sent, [1, 2, 3, 4])
  barrier.appliedUpTo(logIndex(3))
  barrier.answered(2, logIndex(1))
  assert.equal(await isSettled(waiting), false, 'a late response is ignored')
  barrier.answered(4, logIndex(3))
  assert.equal(await waiting, 3)
})

void test('the retry interval grows with the response time', async () => {
  const { clock, sent, barrier, wait } = bench()
  const answerMs = 350
  const requested = new Map<number, number>()
  const served: Promise<number>[] = []
  barrier.appliedUpTo(logIndex(9))
  for (let at = 0; at < 200; at++) {
    if (at % 50 === 0) served.push(wait(2500))
    await clock.advance(20)
    for (const round of sent) {
      if (!requested.has(round)) requested.set(round, clock.monotonicMs())
      if (clock.monotonicMs() - (requested.get(round) ?? 0) === answerMs - (answerMs % 20)) {
        barrier.answered(round, logIndex(5))
      }
    }
  }
  assert.deepEqual(await Promise.all(served), [9, 9, 9, 9])
  assert.ok(sent.length < 12, `${sent.length} rounds for four reads`)
})

void test('an expired caller fails with timed-out, in whatever state its round is', async () => {
  const { clock, barrier, wait } = bench()
  const requested = wait(50)
  await clock.advance(0)
  const open = wait(50)
  await clock.advance(80)
  await assert.rejects(requested, { code: 'timed-out' })
  await assert.rejects(open, { code: 'timed-out' })
  const confirmed = wait(50)
  await clock.advance(0)
  await clock.advance(0)
  barrier.answered(2, logIndex(99))
  await clock.advance(80)
  await assert.rejects(confirmed, { code: 'timed-out' })
  assert.equal(barrier.waiting, 0)
})

void test('reads above the limit are refused; stop fails all', async () => {
  const { barrier, wait } = bench({ waitersMax: 1 })
  const waiting = wait()
  await assert.rejects(wait(), { code: 'overloaded' })
  barrier.stop()
  await assert.rejects(waiting, { code: 'stopped' })
  await assert.rejects(wait(), { code: 'stopped' })
})

void test('freshness is the send time of the latest applied round, not the time of its response', async () => {
  const { clock, barrier, wait } = bench({ roundsMax: 2 })
  const freshness = () => barrier.freshness
  assert.equal(freshness(), null)
  const first = wait()
  await clock.advance(0)
  const sentMs = clock.monotonicMs()
  await clock.advance(30)
  barrier.answered(1, logIndex(5))
  assert.equal(freshness(), null, 'its index is not applied')
  await clock.advance(20)
  barrier.appliedUpTo(logIndex(5))
  await first
  assert.deepEqual(barrier.freshness, { asOfMs: sentMs, confirmedMs: sentMs + 30 })
  const second = wait()
  await clock.advance(10)
  const third = wait()
  const later = clock.monotonicMs()
  await clock.advance(10)
  barrier.answered(3, logIndex(5))
  barrier.answered(2, logIndex(4))
  await Promise.all([second, third])
  assert.equal(freshness()?.asOfMs, later, 'of two the later')
  barrier.appliedUpTo(logIndex(3))
  assert.equal(freshness(), null, 'another state replaced it')
})

void test('a probe is a round without a caller, one at a time, and a lost one is repeated', async () => {
  const { clock, sent, barrier, wait } = bench()
  barrier.appliedUpTo(logIndex(5))
  barrier.probe()
  barrier.probe()
  await clock.advance(0)
  barrier.probe()
  await clock.advance(50)
  assert.deepEqual(sent, [1])
  barrier.answered(1, logIndex(5))
  assert.equal(barrier.freshness?.asOfMs, clock.monotonicMs() - 50)
  barrier.probe()
  await clock.advance(0)
  await clock.advance(99)
  barrier.probe()
  await clock.advance(1)
  assert.deepEqual(sent, [1, 2])
  barrier.probe()
  await clock.advance(0)
  assert.deepEqual(sent, [1, 2, 3], 'lost')
  const waits = wait()
  await clock.advance(0)
  barrier.answered(3, logIndex(5))
  await clock.advance(0)
  barrier.answered(4, logIndex(5))
  await waits
})

void test('a caller that waits for an index resolves once it is applied, and fails at its deadline', async () => {
  const { clock, sent, barrier } = bench({ waitersMax: 1 })
  barrier.appliedUpTo(logIndex(5))
  await barrier.reached(logIndex(5), 0)
  const reached = barrier.reached(logIndex(6), clock.monotonicMs() + 100)
  await assert.rejects(barrier.reached(logIndex(6), clock.monotonicMs() + 100), { code: 'overloaded' })
  barrier.appliedUpTo(logIndex(6))
  await reached
  const late = assert.rejects(barrier.reached(logIndex(7), clock.monotonicMs() + 100), { code: 'timed-out' })
  await clock.advance(200)
  await late
  assert.deepEqual(sent, [], 'no round was sent')
  barrier.stop()
  await assert.rejects(barrier.reached(logIndex(9), clock.monotonicMs() + 100), { code: 'stopped' })
})

void test('a probe with the heartbeats is sent at once, delays no caller, and is repeated when it is lost', async () => {
  const clock = new ManualClock()
  const sent: [number, boolean][] = []
  const barrier = new ReadBarrier({
    ...{ clock, waitersMax: 100, roundsMax: 1, retryMs: 100, sweepMs: 20 },
    send: (round, withHeartbeat) => sent.push([round, withHeartbeat]),
  })
  barrier.appliedUpTo(logIndex(5))
  barrier.probeWithHeartbeat()
  barrier.probeWithHeartbeat()
  assert.deepEqual(sent, [[1, true]])
  const asked = clock.monotonicMs()
  await clock.advance(700)
  const caller = barrier.wait(clock.monotonicMs() + 1000)
  await clock.advance(0)
  assert.deepEqual(sent[1], [2, false])
  barrier.answered(2, logIndex(5))
  await caller
  await clock.advance(100)
  barrier.answered(1, logIndex(7))
  assert.equal(barrier.freshness?.asOfMs, asked + 700, 'its index is not applied')
  barrier.appliedUpTo(logIndex(7))
  assert.equal(barrier.freshness?.asOfMs, asked + 700, 'the later one counts')
  barrier.probeWithHeartbeat()
  await clock.advance(1999)
  barrier.probeWithHeartbeat()
  assert.equal(sent.length, 3)
  await clock.advance(1)
  barrier.probeWithHeartbeat()
  assert.deepEqual(sent[3], [4, true], 'lost')
  barrier.answered(3, logIndex(7))
  assert.equal(barrier.freshness?.asOfMs, asked + 700, 'a late response counts for nothing')
  barrier.leaderChanged()
  barrier.probeWithHeartbeat()
  assert.deepEqual(sent[4], [5, true], 'the previous leader had it')
  barrier.answered(5, null)
  barrier.probeWithHeartbeat()
  barrier.answered(6, logIndex(7))
  assert.equal(barrier.freshness?.asOfMs, clock.monotonicMs())
})
