/*
 * Goal: who is turned away again and again fills no log, and the first words of each reason are always told.
 * Method: a clock that is moved by hand.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { naming, RefusalThrottle } from '../../../../raft/transport/refusal-throttle.ts'
import { ManualClock } from '../../../support/manual-clock.ts'

void test('a few refusals of each reason are told in ten seconds, then the next few', async () => {
  const clock = new ManualClock()
  const throttle = new RefusalThrottle(clock)
  for (let window = 0; window < 3; window++) {
    for (const reason of ['malformed', 'other-cluster'] as const) {
      const told = Array.from({ length: 1000 }, () => throttle.allows(reason, 'n2')).filter((tells) => tells)
      assert.equal(told.length, 5, reason)
    }
    await clock.advance(10_000)
  }
})

void test('who clamours hides nobody else', () => {
  const throttle = new RefusalThrottle(new ManualClock())
  for (let call = 0; call < 1000; call++) throttle.allows('other-cluster', 'n2')
  assert.ok(throttle.allows('other-cluster', 'n3'))
  assert.ok(throttle.allows('lost-log', 'n2'))
  assert.ok(throttle.allows('other-cluster', null))
})

void test('ever new names fill neither the log nor memory', async () => {
  const clock = new ManualClock()
  const throttle = new RefusalThrottle(clock)
  const told = (): number =>
    Array.from({ length: 5000 }, (_, at) => throttle.allows('other-cluster', `x${at}`)).filter(
      (tells) => tells,
    ).length
  assert.equal(told(), 64 + 5)
  for (let round = 2; round <= 5; round++) assert.equal(told(), 64, 'each that has a window of its own')
  assert.equal(told(), 0)
  await clock.advance(10_000)
  assert.ok(throttle.allows('lost-log', 'n2'), 'what is over makes room')
  assert.equal(told(), 63 + 5)
})

void test('bytes that cannot be read are told with the name of who sent them', () => {
  assert.equal(naming('n2', 'malformed', 'a frame cannot be read'), 'member "n2": a frame cannot be read')
  assert.equal(naming(null, 'malformed', 'x'), 'a caller without a name: x')
  assert.equal(naming('n2', 'lost-log', 'member "n2" was known'), 'member "n2" was known')
})
