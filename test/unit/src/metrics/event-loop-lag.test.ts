/*
 * Goal: the gauges state how late timers were since the last scrape, and ignore earlier ones.
 * Method: a clock that moves by hand, and a registry that has the gauges of the library.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { collectDefaultMetrics, Registry } from 'prom-client'
import type { Clock } from '../../../../base/clock.ts'
import { EventLoopLag } from '../../../../src/metrics/event-loop-lag.ts'

const limits = { lookMs: 100, lagsMax: 1000 }

class LateClock {
  #dueMs = 0
  #nowMs = 0
  #action = (): void => undefined
  readonly clock = {
    monotonicMs: () => this.#nowMs,
    every: (_: number, action: () => void) => {
      this.#action = action
      return { cancel: () => undefined }
    },
  } as unknown as Clock

  /** @param lateMs how late each of the next timers is */
  pass(...lateMs: readonly number[]): void {
    for (const late of lateMs) {
      this.#dueMs += limits.lookMs
      this.#nowMs = this.#dueMs + late
      this.#action()
    }
  }
}

async function gauges(registry: Registry): Promise<Readonly<Record<string, number>>> {
  const lines = (await registry.metrics()).split('\n')
  return Object.fromEntries(
    lines.flatMap((line) => {
      const found = /^nodejs_eventloop_lag_(\w+)_seconds (\S+)$/.exec(line)
      return found?.[1] === undefined ? [] : [[found[1], Number(found[2])]]
    }),
  )
}

function started(): { readonly late: LateClock; readonly registry: Registry } {
  const late = new LateClock()
  const registry = new Registry()
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: 3_600_000 })
  const lag = new EventLoopLag(late.clock, limits)
  lag.register(registry)
  lag.start()
  late.pass(0)
  return { late, registry }
}

void test('the gauges summarize the lags since the last scrape', async () => {
  const { late, registry } = started()
  late.pass(...Array.from({ length: 98 }, () => 1), 3, 20)
  const expected = { min: 0.001, max: 0.02, mean: 0.00121, p50: 0.001, p90: 0.001, p99: 0.003 }
  const { stddev = 0, ...others } = await gauges(registry)
  assert.deepEqual(rounded(others), expected)
  assert.ok(stddev > 0.0018 && stddev < 0.002)
  late.pass(5)
  assert.deepEqual(rounded(await gauges(registry)), {
    ...{ min: 0.005, max: 0.005, mean: 0.005, stddev: 0, p50: 0.005, p90: 0.005, p99: 0.005 },
  })
})

void test('the gauges are 0 when no timer was late since the last scrape', async () => {
  const values = Object.values(await gauges(started().registry))
  assert.deepEqual(
    values,
    values.map(() => 0),
  )
  assert.equal(values.length, 7)
})

void test('only the newest lags are kept', async () => {
  const { late, registry } = started()
  late.pass(50, ...Array.from({ length: limits.lagsMax }, () => 2))
  assert.equal(rounded(await gauges(registry))['max'], 0.002)
})

function rounded(values: Readonly<Record<string, number>>): Readonly<Record<string, number>> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, Number(value.toFixed(6))]))
}
