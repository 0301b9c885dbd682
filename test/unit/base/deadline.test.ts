/*
 * Goal: a wait ends at its deadline, and leaves no timer behind.
 * Method: promises that settle before and after the deadline of a manual clock.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { beforeDeadline } from '../../../base/deadline.ts'
import { Deferred } from '../../../base/deferred.ts'
import { ManualClock } from '../../support/fakes/manual-clock.ts'

const late = (): Error => new Error('too late')

void test('a promise that settles in time settles the wait, and no timer is left', async () => {
  const clock = new ManualClock()
  const of = { clock, deadlineMs: clock.monotonicMs() + 10, late }
  const fulfilled = new Deferred<number>()
  const rejected = new Deferred<number>()
  const waits = [beforeDeadline(fulfilled.promise, of), beforeDeadline(rejected.promise, of)] as const
  assert.equal(clock.pending, 2)
  fulfilled.resolve(7)
  rejected.reject(new Error('refused'))
  assert.equal(await waits[0], 7)
  await assert.rejects(waits[1], /^Error: refused$/)
  await clock.settle()
  assert.equal(clock.pending, 0)
})

void test('at the deadline the wait ends with its error, whatever becomes of the promise', async () => {
  const clock = new ManualClock()
  const slow = new Deferred<number>()
  const wait = beforeDeadline(slow.promise, { clock, deadlineMs: clock.monotonicMs() + 10, late })
  const ended = assert.rejects(wait, /^Error: too late$/)
  await clock.advance(10)
  await ended
  slow.reject(new Error('later'))
  await clock.settle()
  const past = beforeDeadline(new Deferred<number>().promise, { clock, deadlineMs: 0, late })
  const refused = assert.rejects(past, /^Error: too late$/)
  await clock.settle()
  await refused
})

void test('without a deadline no timer is set', async () => {
  const clock = new ManualClock()
  const of = { clock, deadlineMs: Number.POSITIVE_INFINITY, late }
  assert.equal(await beforeDeadline(Promise.resolve(3), of), 3)
  assert.equal(clock.pending, 0)
})
