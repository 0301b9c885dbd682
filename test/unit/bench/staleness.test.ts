/*
 * Goal: only stale reads are reported as stale, and the lengths of gaps are exact.
 * Method: times by hand.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { longestGap } from '../../../bench/tool/gap.ts'
import { Acknowledged } from '../../../bench/tool/staleness.ts'

void test('the staleness of a read runs from the acknowledgement of the next version to the start of the read', () => {
  const acknowledged = new Acknowledged()
  for (const atMs of [100, 200, 300]) acknowledged.add(atMs)
  assert.equal(acknowledged.stalenessMs(2, 1000), 0, 'the newest')
  assert.equal(acknowledged.stalenessMs(3, 1000), 0, 'one that is not acknowledged yet')
  assert.equal(acknowledged.stalenessMs(1, 350), 50)
  assert.equal(acknowledged.stalenessMs(0, 350), 150)
  assert.equal(acknowledged.stalenessMs(-1, 350), 250, 'from before the first write')
  assert.equal(acknowledged.stalenessMs(1, 300), 0)
  assert.equal(acknowledged.stalenessMs(1, 250), 0, 'begun before the later one was acknowledged')
})

void test('the longest gap includes both ends of the measurement and nothing outside of it', () => {
  assert.equal(longestGap([], 100, 400), 300)
  assert.equal(longestGap([50, 120, 130, 500], 100, 400), 270, 'to the end')
  assert.equal(longestGap([300, 310], 100, 400), 200, 'from the beginning')
  assert.equal(longestGap([150, 350, 390], 100, 400), 200)
})
