/*
 * Goal: large requests are evaluated a few at a time, in their order, with pauses between them; small ones never wait.
 * Method: tasks that end when the test says so, on a clock that stands still.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Deferred } from '../../../../raft/base/deferred.ts'
import { limits } from '../../../../src/config/limits.ts'
import { HeavyWork } from '../../../../src/server/heavy-work.ts'
import { ManualClock } from '../../../support/manual-clock.ts'

const most = limits.heavyWorkBytesMax

async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate)
}

void test('the largest are evaluated alone, others beside each other, in the order in which they came', async () => {
  const clock = new ManualClock()
  const heavy = new HeavyWork(clock)
  const begun: string[] = []
  const ends = new Map<string, Deferred<void>>()
  const ask = (name: string, bytes: number): Promise<void> => {
    const end = new Deferred<void>()
    ends.set(name, end)
    return heavy.run(bytes, Infinity, () => {
      begun.push(name)
      return end.promise
    })
  }
  const asked = [ask('a', 100 * most), ask('b', most / 2), ask('c', most / 2), ask('d', most / 2)]
  const small = ask('small', limits.heavyWorkBytesMin)
  await turns()
  assert.deepEqual(begun, ['small', 'a'])
  await clock.advance(400)
  ends.get('a')?.resolve()
  await turns()
  assert.deepEqual(begun, ['small', 'a'], 'first others have their turns')
  await clock.advance(100)
  await turns()
  assert.deepEqual(begun, ['small', 'a', 'b', 'c'])
  for (const end of ends.values()) end.resolve()
  await turns()
  await clock.advance(1)
  await Promise.all([...asked, small])
  assert.deepEqual(begun, ['small', 'a', 'b', 'c', 'd'])
})

void test('who does not come to its turn in time is told to try again, and is not in the way', async () => {
  const clock = new ManualClock()
  const heavy = new HeavyWork(clock)
  const end = new Deferred<void>()
  const first = heavy.run(most, Infinity, () => end.promise)
  const late = heavy.run(most, clock.monotonicMs() + 50, async () => assert.fail('it is too late'))
  const third = heavy.run(most, Infinity, async () => 'third')
  await clock.advance(50)
  await assert.rejects(late, { code: 'TooManyRequests' })
  end.resolve()
  await first
  await clock.advance(250)
  assert.equal(await third, 'third')
})

void test('pieces are made one at a time beside all other heavy work, and whoever makes them is told when nobody wants more', async () => {
  const heavy = new HeavyWork(new ManualClock())
  let closed = false
  const made = heavy.pieces(
    (function* () {
      try {
        yield Buffer.from('a')
        yield Buffer.from('b')
      } finally {
        closed = true
      }
    })(),
    () => Infinity,
  )
  for await (const piece of made) {
    assert.equal(String(piece), 'a')
    break
  }
  assert.ok(closed)
})
