/*
 * Goal: a controller reconciles one key at a time, retries with increasing delays, and works only
 * while its member leads.
 * Method: a scripted reconciler, and a clock that moves by hand.
 */
import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
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
