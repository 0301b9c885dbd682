/*
 * Goal: a leader transfers leadership when its own threads are stalled, and not when the whole
 * process was.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StallTimer, StallDetector } from '../../../../raft/driver/stall-detector.ts'

/**
 * Checks every 10 ms from `from` on, and records an attempt when triggered. @returns the times of
 * attempts
 */
function looks(
  watch: StallDetector,
  span: { readonly from: number; readonly to: number },
  since: { readonly writing?: number; readonly applying?: number },
): number[] {
  const attempts: number[] = []
  for (let now = span.from; now <= span.to; now += 10) {
    const owed = { writingSinceMs: since.writing ?? null, applyingSinceMs: since.applying ?? null }
    if (!watch.stalled(now, owed)) continue
    attempts.push(now)
    watch.noteAttempt(now)
  }
  return attempts
}

const limits = { stallMsMax: 3000, stallCooldownMs: 30_000 }

void test('a write that is not durable after three seconds triggers a transfer', () => {
  const [at, ...more] = looks(new StallDetector(limits), { from: 0, to: 20_000 }, { writing: 0 })
  assert.ok(at !== undefined && at >= 2_900 && at <= 3_100)
  assert.deepEqual(more, [], 'and only once within the cooldown')
})

void test('an api thread that applies nothing for three seconds triggers a transfer', () => {
  assert.equal(looks(new StallDetector(limits), { from: 0, to: 4_000 }, { applying: 0 }).length, 1)
})

void test('without an attempt the next check triggers again, without a cooldown', () => {
  const watch = new StallDetector(limits)
  const owed = { writingSinceMs: 0, applyingSinceMs: null }
  let requested = 0
  for (let now = 0; now <= 4_000; now += 10) if (watch.stalled(now, owed)) requested++
  assert.ok(requested > 90, `triggered ${requested} times`)
})

void test('idleness and short waits are not a stall', () => {
  const watch = new StallDetector(limits)
  assert.deepEqual(looks(watch, { from: 0, to: 10_000 }, {}), [])
  for (let from = 10_000; from < 40_000; from += 1_000) {
    assert.deepEqual(looks(watch, { from, to: from + 990 }, { writing: from }), [])
  }
})

void test('a pause of the whole process does not count', () => {
  const watch = new StallDetector(limits)
  assert.deepEqual(looks(watch, { from: 0, to: 100 }, { writing: 0 }), [])
  assert.deepEqual(looks(watch, { from: 60_000, to: 60_200 }, { writing: 0 }), [])
})

void test('slow progress is not a stall, and pending work counts from its begin only', () => {
  const timer = new StallTimer()
  assert.equal(timer.sinceMs, null)
  timer.start(1000)
  timer.start(1400)
  assert.equal(timer.sinceMs, 1000, 'more work does not restart the timer')
  timer.stop(1900, true)
  assert.equal(timer.sinceMs, 1900)
  timer.stop(2800, false)
  assert.equal(timer.sinceMs, null)
  timer.start(90_000)
  assert.equal(timer.sinceMs, 90_000)
})
