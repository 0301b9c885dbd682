/*
 * Goal: the rate of calls that operators see is computed over the time in which the calls were
 * made. Method: calls at times that the test chooses.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AllWebhookStatistics } from '../../../../src/outward/webhook-statistics.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

/** Returns the rate after calls at an even pace. */
async function rateAfter(seconds: number, perSecond: number): Promise<number> {
  const clock = new ManualClock()
  // Not at the start of an interval.
  await clock.advance(123_456)
  const webhook = { id: 'a' }
  const statistics = new AllWebhookStatistics(clock)
  statistics.follow({ added: [webhook], removed: [] })
  for (let second = 0; second < seconds; second++) {
    await clock.advance(1000)
    for (let call = 0; call < perSecond; call++)
      statistics.of(webhook).ended('allowed', 1, clock.monotonicMs())
  }
  return statistics.of(webhook).summary(clock.monotonicMs()).perSecond
}

void test('the rate of a webhook is right in its first minute, and between the intervals later', async () => {
  for (const seconds of [10, 20, 35, 60, 64, 125]) {
    const rate = await rateAfter(seconds, 4)
    assert.ok(Math.abs(rate - 4) < 0.1, `${rate} per second after ${seconds} seconds`)
  }
  assert.equal(await rateAfter(1, 1), 0.1, 'a single call is no high rate')
})

void test('a webhook that was configured long before its first call has a low rate', async () => {
  const clock = new ManualClock()
  const [webhook, changed] = [{ id: 'a' }, { id: 'a' }]
  const statistics = new AllWebhookStatistics(clock)
  statistics.follow({ added: [webhook], removed: [] })
  await clock.advance(30_000)
  statistics.follow({ added: [changed], removed: [webhook] })
  statistics.of(changed).ended('allowed', 1, clock.monotonicMs())
  assert.equal(statistics.of(changed).summary(clock.monotonicMs()).perSecond, 1 / 30)
})
