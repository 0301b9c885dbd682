/*
 * Goal: repeated actions run together, none too early or twice, and none
 * after it was cancelled.
 * Method: the timers of the test runner, which move time by hand.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { Timer } from '../../../../base/clock.ts'
import { SharedTimer } from '../../../../src/host/shared-timer.ts'

type Opened = {
  readonly timer: SharedTimer
  readonly now: () => number
  readonly advance: (ms: number) => void
  /** Moves the time without running timers, as a busy thread does. */
  readonly pause: (ms: number) => void
}

function open(t: TestContext, startMs: number): Opened {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let nowMs = startMs
  const advance = (ms: number): void => {
    for (let step = 0; step < ms; step++) {
      nowMs++
      t.mock.timers.tick(1)
    }
  }
  return { timer: new SharedTimer(() => nowMs), now: () => nowMs, advance, pause: (ms) => (nowMs += ms) }
}

void test('actions with different periods and starts run at common times, none before its period', (t) => {
  const { timer, now, advance } = open(t, 1234.5)
  const runs: [string, number][] = []
  const startedMs = now()
  timer.every(1000, () => runs.push(['second', now()]))
  advance(137)
  timer.every(500, () => runs.push(['half', now()]))
  advance(4000)
  const seconds = runs.flatMap(([name, ms]) => (name === 'second' ? [ms] : []))
  const halves = runs.flatMap(([name, ms]) => (name === 'half' ? [ms] : []))
  assert.ok((seconds[0] ?? 0) >= startedMs + 1000)
  assert.ok((seconds[0] ?? Infinity) < startedMs + 1502)
  for (const ms of [...seconds, ...halves]) assert.ok(ms % 500 < 2 || ms % 500 > 498, `${ms}`)
  assert.equal(halves.length, 7)
  assert.equal(seconds.length, 3)
  assert.ok(seconds.every((ms) => halves.includes(ms)))
})

void test('a busy thread skips runs, and the next ones are at common times again', (t) => {
  const { timer, now, advance, pause } = open(t, 0)
  const runs: number[] = []
  timer.every(500, () => runs.push(now()))
  advance(600)
  pause(1800)
  advance(1200)
  assert.deepEqual(
    runs.map((ms) => Math.round(ms)),
    [500, 2800, 3000, 3500],
  )
})

void test('an action can cancel itself and others, and begin new ones', (t) => {
  const { timer, advance } = open(t, 0)
  const runs: string[] = []
  const others: Timer[] = []
  const first = timer.every(500, () => {
    runs.push('first')
    first.cancel()
    for (const other of others) other.cancel()
    timer.every(500, () => runs.push('third'))
  })
  others.push(timer.every(500, () => runs.push('second')))
  advance(1100)
  assert.deepEqual(runs, ['first', 'third'])
})

void test('only periods that are multiples of the common interval are taken', () => {
  for (const periodMs of [500, 1000, 15_000]) assert.equal(SharedTimer.takes(periodMs), true)
  for (const periodMs of [0, 50, 450, 750, 1100]) assert.equal(SharedTimer.takes(periodMs), false)
})
