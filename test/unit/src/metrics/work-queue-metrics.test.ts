/*
 * Goal: the work queues of controllers are measured under upstream's names.
 * Method: a real queue on a clock that moves by hand, and the text of a scrape.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Registry } from 'prom-client'
import { WorkQueue } from '../../../../src/controllers/work-queue.ts'
import { WorkQueueMetrics } from '../../../../src/metrics/work-queue-metrics.ts'
import { ManualClock } from '../registry/fixture.ts'

void test('depth, adds, retries, errors, latency and work of each queue are exported by its name', async () => {
  const clock = new ManualClock()
  const queue = new WorkQueue({ clock, keysMax: 10 })
  const metrics = new WorkQueueMetrics()
  metrics.add('namespace', queue)
  metrics.add('idle', new WorkQueue({ clock, keysMax: 10 }))
  const registry = new Registry()
  metrics.register(registry)
  for (const key of ['a', 'b', 'c', 'd']) queue.add(key)
  clock.advance(500)
  for (const key of ['a', 'b', 'c']) assert.equal(queue.take(), key)
  clock.advance(2000)
  queue.done('a')
  queue.addAfter('a', 1000)
  queue.failed()
  const text = await registry.metrics()
  const values = [
    ['depth{name="namespace"}', 1],
    ['depth{name="idle"}', 0],
    ['adds_total{name="namespace"}', 4],
    ['adds_total{name="idle"}', 0],
    ['retries_total{name="namespace"}', 1],
    ['unfinished_work_seconds{name="namespace"}', 4],
    ['longest_running_processor_seconds{name="namespace"}', 2],
    ['longest_running_processor_seconds{name="idle"}', 0],
    ['queue_duration_seconds_sum{name="namespace"}', 1.5],
    ['queue_duration_seconds_bucket{le="1",name="namespace"}', 3],
    ['work_duration_seconds_count{name="namespace"}', 1],
    ['work_duration_seconds_bucket{le="1",name="namespace"}', 0],
    ['work_duration_seconds_bucket{le="10",name="namespace"}', 1],
  ]
  const lines = text.split('\n')
  for (const [name, value] of values)
    assert.ok(lines.includes(`workqueue_${name} ${value}`), `${name}: ${text}`)
  assert.ok(lines.includes('orch_controller_errors_total{name="namespace"} 1'), text)
  assert.ok(lines.includes('orch_controller_errors_total{name="idle"} 0'), text)
})
