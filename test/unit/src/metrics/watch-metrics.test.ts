/*
 * Goal: the delivery of an event is timed from its apply on this member; events that were there
 * before the watch began are counted only.
 * Method: a clock that the test moves, and the real ring of apply times.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Registry } from 'prom-client'
import { WatchMetrics } from '../../../../src/metrics/watch-metrics.ts'
import { ApplyTimes } from '../../../../src/store/watch/apply-times.ts'
import { revision } from '../../../../src/store/revision.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

const pods = { group: '', version: 'v1', kind: 'Pod' }

function kit() {
  const clock = new ManualClock()
  const times = new ApplyTimes(clock)
  let newest = revision(10)
  times.applied(newest)
  const metrics = new WatchMetrics({
    clock,
    store: {
      get revision() {
        return newest
      },
      appliedMs: (of) => times.of(of),
    },
  })
  const register = new Registry()
  metrics.register(register)
  const apply = (to: number): void => {
    newest = revision(to)
    times.applied(newest)
  }
  return { clock, times, metrics, register, apply }
}

void test('the delivery of an event is timed from its apply', async () => {
  const { clock, metrics, register, apply } = kit()
  const watch = metrics.begin(pods)
  apply(12)
  await clock.advance(40)
  apply(13)
  watch.sent(2, revision(11))
  const text = await register.metrics()
  assert.match(text, /^apiserver_watch_events_total\{group="",version="v1",kind="Pod"\} 2$/m)
  assert.match(text, /^orch_watch_delivery_seconds_bucket\{le="0.025"\} 0$/m)
  assert.match(text, /^orch_watch_delivery_seconds_bucket\{le="0.05"\} 1$/m)
  assert.match(text, /^orch_watch_delivery_seconds_sum 0.04$/m)
})

void test('events from before a watch, and those without a change, are counted and not timed', async () => {
  const { clock, metrics, register, apply } = kit()
  apply(12)
  const watch = metrics.begin(pods)
  await clock.advance(1000)
  watch.sent(3, revision(12))
  watch.sent(1, null)
  const text = await register.metrics()
  assert.match(text, /^apiserver_watch_events_total\{.*\} 4$/m)
  assert.doesNotMatch(text, /^orch_watch_delivery_seconds_count/m)
})

void test('beyond a thousand kinds, events are counted without the name of a kind', async () => {
  const { metrics, register } = kit()
  for (let i = 0; i < 1500; i++) metrics.begin({ ...pods, kind: `K${i}` }).sent(1, null)
  const series = (await register.metrics()).match(/^apiserver_watch_events_total\{.*$/gm) ?? []
  assert.equal(series.length, 1001)
  assert.ok(series.includes('apiserver_watch_events_total{group="",version="",kind=""} 500'))
})

void test('apply times go back a bounded number of applies, and restart with an older state', async () => {
  const { clock, times, apply } = kit()
  for (let at = 11; at < 11 + 5000; at++) {
    await clock.advance(1)
    apply(at)
  }
  assert.equal(times.of(revision(11)), null, 'forgotten')
  assert.equal(times.of(revision(5010)), clock.monotonicMs())
  assert.equal(times.of(revision(5009)), clock.monotonicMs() - 1)
  assert.equal(times.of(revision(5011)), null, 'not applied yet')
  apply(20)
  apply(22)
  assert.equal(times.of(revision(5010)), null)
  assert.equal(times.of(revision(21)), clock.monotonicMs())
})
