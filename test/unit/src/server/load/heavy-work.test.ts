/*
 * Goal: large requests are evaluated a few at a time, with pauses between them, and users take
 * turns; small ones never wait.
 * Method: tasks that the test completes, on a clock that the test moves.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Deferred } from '../../../../../base/deferred.ts'
import { limits } from '../../../../../src/config/limits.ts'
import { HeavyWork } from '../../../../../src/server/load/heavy-work.ts'
import { ManualClock } from '../../../../support/fakes/manual-clock.ts'

const most = limits.heavyWorkBytesMax

async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate)
}

void test('the largest requests are evaluated alone, others concurrently, in order of arrival', async () => {
  const clock = new ManualClock()
  const heavy = new HeavyWork(clock)
  const begun: string[] = []
  const ends = new Map<string, Deferred<void>>()
  const ask = (name: string, bytes: number): Promise<void> => {
    const end = new Deferred<void>()
    ends.set(name, end)
    return heavy.run({ user: 'u', bytes, deadlineMs: Infinity }, () => {
      begun.push(name)
      return end.promise
    })
  }
  const requested = [ask('a', 100 * most), ask('b', most / 2), ask('c', most / 2), ask('d', most / 2)]
  const small = ask('small', limits.heavyWorkBytesMin)
  await turns()
  assert.deepEqual(begun, ['small', 'a'])
  await clock.advance(400)
  ends.get('a')?.resolve()
  await turns()
  assert.deepEqual(begun, ['small', 'a'], 'other work gets a turn first')
  await clock.advance(100)
  await turns()
  assert.deepEqual(begun, ['small', 'a', 'b', 'c'])
  for (const end of ends.values()) end.resolve()
  await turns()
  await clock.advance(1)
  await Promise.all([...requested, small])
  assert.deepEqual(begun, ['small', 'a', 'b', 'c', 'd'])
})

void test('waiting users take turns, whatever their order and number of requests', async () => {
  const clock = new ManualClock()
  const heavy = new HeavyWork(clock)
  const begun: string[] = []
  const ask = (user: string, name: string): Promise<void> =>
    heavy.run({ user, bytes: most, deadlineMs: Infinity }, async () => void begun.push(name))
  const requested = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1'].map((name) => ask(name.slice(0, 1), name))
  await turns()
  for (let turn = 0; turn < requested.length; turn++) await clock.advance(1)
  await Promise.all(requested)
  // `a1` began before any other request waited; then the users take turns.
  assert.deepEqual(begun, ['a1', 'a2', 'b1', 'c1', 'a3', 'b2', 'a4'])
  assert.equal(clock.pending, 0, 'no timer is left')
})

void test('no two requests begin in one turn of the event loop, although both fit', async () => {
  const clock = new ManualClock()
  const heavy = new HeavyWork(clock)
  const begun: string[] = []
  const end = new Deferred<void>()
  const requested = ['a', 'b'].map((name) =>
    heavy.run({ user: 'u', bytes: most / 2, deadlineMs: Infinity }, () => {
      begun.push(name)
      return end.promise
    }),
  )
  await turns()
  assert.deepEqual(begun, ['a'])
  await clock.advance(0)
  assert.deepEqual(begun, ['a', 'b'])
  end.resolve()
  await Promise.all(requested)
})

void test('a task that takes longer than the limit, as it waits for something else, does not block others', async () => {
  const clock = new ManualClock()
  const heavy = new HeavyWork(clock)
  const end = new Deferred<void>()
  const task = { user: 'u', bytes: most, deadlineMs: Infinity }
  const first = heavy.run(task, () => end.promise)
  let isBegun = false
  const second = heavy.run(task, async () => void (isBegun = true))
  await clock.advance(limits.heavyWorkMsMax - 1)
  assert.ok(!isBegun)
  await clock.advance(1000)
  assert.ok(isBegun)
  await second
  end.resolve()
  await first
})

void test('a task whose turn does not come in time is rejected and leaves the queue', async () => {
  const clock = new ManualClock()
  const heavy = new HeavyWork(clock)
  const end = new Deferred<void>()
  const first = heavy.run({ user: 'u', bytes: most, deadlineMs: Infinity }, () => end.promise)
  const soon = { user: 'u', bytes: most, deadlineMs: clock.monotonicMs() + 50 }
  const late = heavy.run(soon, async () => assert.fail('it is too late'))
  const third = heavy.run({ ...soon, deadlineMs: Infinity }, async () => 'third')
  await clock.advance(50)
  await assert.rejects(late, { code: 'TooManyRequests' })
  end.resolve()
  await first
  await clock.advance(250)
  assert.equal(await third, 'third')
})

void test('the source of pieces is closed when the client wants no further piece', async () => {
  const heavy = new HeavyWork(new ManualClock())
  let closed = false
  const made = heavy.pieces(
    'u',
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
