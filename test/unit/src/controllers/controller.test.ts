/*
 * Goal: a controller reconciles one key at a time, retries with increasing delays, and works only
 * while its member leads.
 * Method: a scripted reconciler, and a clock that moves by hand.
 */
import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { Controller } from '../../../../src/controllers/controller.ts'
import type { Reconciled } from '../../../../src/controllers/controller.ts'
import { whileLeading } from '../../../../src/controllers/leadership.ts'
import type { Leadership } from '../../../../src/controllers/leadership.ts'
import { ManualClock } from '../registry/fixture.ts'

const limits = { keysMax: 10, backoffMsMin: 100, backoffMsMax: 400 }

function open(reconcile: (key: string) => Promise<Reconciled>, keys: readonly string[] = []) {
  const clock = new ManualClock()
  const errors: string[] = []
  const onError = (key: string) => void errors.push(key)
  const controller = new Controller({ clock, reconcile, keys: () => keys, onError, limits })
  return { clock, controller, errors }
}

async function turns(count = 5): Promise<void> {
  for (let at = 0; at < count; at++) await turn()
}

void test('start reconciles every key, and later ones as they come, one at a time', async () => {
  const seen: string[] = []
  let working = 0
  const { controller } = open(
    async (key) => {
      assert.equal(++working, 1)
      await turn()
      seen.push(key)
      working--
      return { kind: 'done' }
    },
    ['a', 'b'],
  )
  controller.enqueue('early')
  controller.start()
  controller.enqueue('c')
  await turns(20)
  assert.deepEqual(seen, ['a', 'b', 'c'])
  controller.stop()
  controller.enqueue('d')
  await turns()
  assert.deepEqual(seen, ['a', 'b', 'c'])
})

void test('a key that failed or has to be reconciled again is retried with delays that double up to a limit', async () => {
  let tries = 0
  const { controller, clock, errors } = open(async () => {
    tries++
    if (tries % 2 === 1) throw new Error('not yet')
    return { kind: 'again' }
  }, ['a'])
  controller.start()
  const counts: number[] = []
  for (const ms of [0, 99, 1, 200, 400, 400, 400, 399, 1]) {
    clock.advance(ms)
    await turns()
    counts.push(tries)
  }
  assert.deepEqual(counts, [1, 1, 2, 3, 4, 5, 6, 6, 7])
  assert.deepEqual(errors, ['a', 'a', 'a', 'a'])
  assert.equal(controller.queue.errors, 4)
  controller.stop()
})

void test('keys beyond the size of the queue are reconciled as it empties, each once', async () => {
  const all = Array.from({ length: 35 }, (_, at) => `k${at}`)
  const seen: string[] = []
  const { controller } = open(async (key) => {
    seen.push(key)
    return { kind: 'done' }
  }, all)
  controller.start()
  assert.equal(controller.queue.size, limits.keysMax)
  await turns(200)
  assert.deepEqual(seen, all)
  controller.stop()
})

void test('a key that a full queue dropped is reconciled after the pause, if it still needs work', async () => {
  const keys = new Set<string>()
  const seen: string[] = []
  const gate = { open: Promise.resolve() }
  let release = (): void => undefined
  gate.open = new Promise((resolve) => (release = resolve))
  const clock = new ManualClock()
  const reconcile = async (key: string): Promise<Reconciled> => {
    await gate.open
    seen.push(key)
    keys.delete(key)
    return { kind: 'done' }
  }
  const onError = (): void => undefined
  const controller = new Controller({ clock, reconcile, keys: () => keys, onError, limits })
  controller.start()
  for (let at = 0; at < 40; at++) {
    keys.add(`k${at}`)
    controller.enqueue(`k${at}`)
  }
  assert.equal(controller.queue.size, limits.keysMax)
  keys.delete('k30')
  release()
  await turns(100)
  assert.equal(seen.length, limits.keysMax + 1)
  clock.advance(limits.backoffMsMax)
  await turns(200)
  assert.deepEqual([keys.size, seen.length, seen.includes('k30')], [0, 39, false])
  controller.stop()
})

void test('keys that always fail do not keep others out of a full queue', async () => {
  const keys = Array.from({ length: 30 }, (_, at) => `k${at}`)
  const tried = new Map<string, number>()
  const { controller, clock } = open(async (key) => {
    tried.set(key, (tried.get(key) ?? 0) + 1)
    throw new Error('never')
  }, keys)
  controller.start()
  for (let at = 0; at < 100; at++) {
    await turns(10)
    clock.advance(100)
  }
  assert.equal(tried.size, 30)
  assert.ok(Math.min(...tried.values()) > 5, 'each is retried')
  assert.ok(Math.max(...tried.values()) <= 110, 'none is retried without a pause')
  assert.ok(controller.queue.size <= limits.keysMax)
  controller.stop()
})

void test('no key is lost, whatever the size of the queue and the order of events', async () => {
  const seed = Number(process.env['SEED'] ?? 4711)
  const random = new SeededRandom(seed)
  const clock = new ManualClock()
  /** The version of each key, and the one that was reconciled last. */
  const [wanted, done] = [new Map<string, number>(), new Map<string, number>()]
  const controller = new Controller({
    clock,
    keys: () => wanted.keys(),
    onError: () => undefined,
    limits: { ...limits, keysMax: 5, concurrency: 3 },
    reconcile: async (key) => {
      const version = wanted.get(key) ?? 0
      await turn()
      if (random.below(4) === 0) throw new Error('now and then')
      done.set(key, version)
      return { kind: random.below(4) === 0 ? 'again' : 'done' }
    },
  })
  controller.start()
  for (let at = 0; at < 400; at++) {
    const key = `k${random.below(60)}`
    wanted.set(key, at)
    controller.enqueue(key)
    if (random.below(8) === 0) {
      clock.advance(random.below(300))
      await turns(random.below(4))
    }
    if (random.below(100) === 0) {
      controller.stop()
      controller.start()
    }
  }
  for (let at = 0; at < 300; at++) {
    await turns(10)
    clock.advance(100)
  }
  const repeat = `SEED=${seed} node dist/test/run.js --only unit/src/controllers/controller`
  assert.deepEqual([...done].sort(), [...wanted].sort(), repeat)
  controller.stop()
})

void test('work begins and ends with leadership', () => {
  const listeners = new Set<() => void>()
  const state = { leading: false }
  const leadership: Leadership = {
    get leading() {
      return state.leading
    },
    onChange: (listener) => {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
  }
  const log: string[] = []
  const end = whileLeading(leadership, {
    start: () => void log.push('start'),
    stop: () => void log.push('stop'),
  })
  for (const leading of [true, true, false, true]) {
    state.leading = leading
    for (const listener of listeners) listener()
  }
  end()
  assert.deepEqual(log, ['start', 'stop', 'start', 'stop'])
  assert.equal(listeners.size, 0)
})
