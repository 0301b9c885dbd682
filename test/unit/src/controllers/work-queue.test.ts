/*
 * Goal: the work queue hands out each key once at a time, in order, and is bounded.
 * Method: a clock that moves by hand.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { WorkQueue } from '../../../../src/controllers/work-queue.ts'
import { ManualClock } from '../registry/fixture.ts'

function open(keysMax = 10) {
  const clock = new ManualClock()
  return { clock, queue: new WorkQueue({ clock, keysMax }) }
}

void test('keys are taken in order of arrival, each once', () => {
  const { queue } = open()
  for (const key of ['a', 'b', 'a']) assert.equal(queue.add(key), true)
  assert.deepEqual([queue.take(), queue.take(), queue.take()], ['a', 'b', null])
})

void test('a key added while it is processed is taken again afterwards', () => {
  const { queue } = open()
  queue.add('a')
  queue.take()
  queue.add('a')
  queue.add('a')
  assert.equal(queue.take(), null)
  queue.done('a')
  assert.equal(queue.take(), 'a')
  queue.done('a')
  assert.equal(queue.take(), null)
})

void test('a delayed key is taken when its delay is over, or at once when it is added', () => {
  const { clock, queue } = open()
  queue.addAfter('a', 100)
  queue.addAfter('b', 100)
  assert.equal(queue.take(), null)
  queue.add('b')
  assert.equal(queue.take(), 'b')
  clock.advance(100)
  assert.equal(queue.take(), 'a')
  queue.done('b')
  assert.equal(queue.take(), null)
})

void test('a full queue rejects keys', () => {
  const { queue } = open(2)
  assert.deepEqual(
    [queue.add('a'), queue.addAfter('b', 5), queue.add('c'), queue.add('a')],
    [true, true, false, true],
  )
  assert.equal(queue.size, 2)
})

void test('an observer gets the time that each key waited and was processed', () => {
  const { clock, queue } = open()
  const seen: string[] = []
  queue.observe({
    waited: (ms) => void seen.push(`waited ${ms}`),
    worked: (ms) => void seen.push(`worked ${ms}`),
  })
  queue.add('a')
  clock.advance(20)
  queue.add('a')
  queue.add('b')
  assert.deepEqual([queue.depth, queue.adds, queue.workingMs()], [2, 2, []])
  queue.take()
  clock.advance(5)
  queue.take()
  clock.advance(5)
  assert.deepEqual([queue.depth, queue.workingMs()], [0, [10, 5]])
  queue.done('a')
  queue.done('b')
  queue.addAfter('a', 100)
  queue.addAfter('a', 100)
  assert.deepEqual([queue.retries, queue.adds, queue.depth], [1, 2, 0], 'a delayed key is not ready')
  clock.advance(100)
  assert.deepEqual([queue.retries, queue.adds, queue.depth], [1, 3, 1])
  assert.deepEqual(seen, ['waited 20', 'waited 5', 'worked 10', 'worked 5'])
})
