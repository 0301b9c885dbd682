/* Goal: a cache is bounded and forgets in time. Method: a clock that the test moves. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ExpiringCache } from '../../../../src/auth/expiring-cache.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

void test('an entry is there until its time is over, and a full cache removes the oldest', async () => {
  const clock = new ManualClock()
  const cache = new ExpiringCache<number>(2, clock)
  cache.set('a', 1, 100)
  cache.set('b', 2, 200)
  assert.deepEqual([cache.get('a'), cache.get('b'), cache.get('c')], [1, 2, undefined])
  await clock.advance(100)
  assert.deepEqual([cache.get('a'), cache.get('b'), cache.size], [undefined, 2, 1])
  cache.set('c', 3, 100)
  cache.set('b', 4, 100)
  cache.set('d', 5, 100)
  assert.deepEqual([cache.get('b'), cache.get('c'), cache.get('d'), cache.size], [4, undefined, 5, 2])
  cache.set('d', 6, 0)
  assert.equal(cache.get('d'), undefined)
})
