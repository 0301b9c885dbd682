/*
 * Goal: a token bucket grants its burst and nothing beyond it, and refills with time.
 * Method: a manual clock.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TokenBucket } from '../../../../src/membership/token-bucket.ts'

void test('a token bucket grants a burst at once, then one token per period, and never more than the burst', () => {
  let nowMs = 0
  const allowance = new TokenBucket({ most: 3, eachMs: 100, clock: { monotonicMs: () => nowMs } })
  const taken = (): number => {
    let count = 0
    while (allowance.take()) count++
    return count
  }
  assert.equal(taken(), 3)
  nowMs = 99
  assert.equal(taken(), 0)
  nowMs = 250
  assert.equal(taken(), 2)
  allowance.giveBack()
  assert.equal(taken(), 1)
  nowMs = 1e9
  for (let at = 0; at < 10; at++) allowance.giveBack()
  assert.equal(taken(), 3)
})
