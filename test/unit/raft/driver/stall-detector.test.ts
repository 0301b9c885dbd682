/*
 * Goal: a leader gives way when its own threads stand still, and not because the whole process
 * did.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StallTimer, StallDetector } from '../../../../raft/driver/stall-detector.ts'

/** Looks every 10 ms from `from` on, and gives way when asked to. @returns when it gave way */
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

void test('a write that is not durable after three seconds ends the reign', () => {
  const [at, ...more] = looks(new StallDetector(limits), { from: 0, to: 20_000 }, { writing: 0 })
  assert.ok(at !== undefined && at >= 2_900 && at <= 3_100)
  assert.deepEqual(more, [], 'and only once within the cooldown')
})

void test('so does an api thread that applies nothing', () => {
  assert.equal(looks(new StallDetector(limits), { from: 0, to: 4_000 }, { applying: 0 }).length, 1)
})

void test('who could not give way is asked again at once, not after the cooldown', () => {
  const watch = new StallDetector(limits)
  const owed = { writingSinceMs: 0, applyingSinceMs: null }
  let asked = 0
  for (let now = 0; now <= 4_000; now += 10) if (watch.stalled(now, owed)) asked++
  assert.ok(asked > 90, `asked ${asked} times`)
})

void test('idleness and short waits are no stall', () => {
  const watch = new StallDetector(limits)
  assert.deepEqual(looks(watch, { from: 0, to: 10_000 }, {}), [])
  for (let from = 10_000; from < 40_000; from += 1_000) {
    assert.deepEqual(looks(watch, { from, to: from + 990 }, { writing: from }), [])
  }
})

void test('a pause of the whole process counts for nothing', () => {
  const watch = new StallDetector(limits)
  assert.deepEqual(looks(watch, { from: 0, to: 100 }, { writing: 0 }), [])
  assert.deepEqual(looks(watch, { from: 60_000, to: 60_200 }, { writing: 0 }), [])
})

void test('who answers, however slowly, does not stand still; who owed nothing for long owes from now on', () => {
  const debt = new StallTimer()
  assert.equal(debt.sinceMs, null)
  debt.start(1000)
  debt.start(1400)
  assert.equal(debt.sinceMs, 1000, 'more work does not begin the wait anew')
  debt.stop(1900, true)
  assert.equal(debt.sinceMs, 1900)
  debt.stop(2800, false)
  assert.equal(debt.sinceMs, null)
  debt.start(90_000)
  assert.equal(debt.sinceMs, 90_000)
})
