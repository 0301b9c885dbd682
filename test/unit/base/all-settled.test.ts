/*
 * Goal: a bounded number of actions runs at a time, and all of them run.
 * Method: actions that end in another order than they began.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allSettledWithLimit } from '../../../base/all-settled.ts'

void test('all actions start in order, at most as many at a time as the limit, even if others fail', async () => {
  for (const [limit, atATime] of [
    [0.2, 1],
    [3.9, 3],
    [100, 10],
  ] as const) {
    const begun: number[] = []
    let running = 0
    let runningMax = 0
    const items = Array.from({ length: 10 }, (_, at) => at)
    const results = await allSettledWithLimit(items, limit, async (item) => {
      begun.push(item)
      runningMax = Math.max(runningMax, ++running)
      for (let turn = 0; turn < 10 - item; turn++) await Promise.resolve()
      running--
      if (item % 3 === 1) throw new Error(`no ${item}`)
      return item
    })
    assert.deepEqual(begun, items)
    assert.equal(runningMax, atATime)
    assert.deepEqual(
      results.map((one) => (one.status === 'fulfilled' ? one.value : String(one.reason))),
      items.map((item) => (item % 3 === 1 ? `Error: no ${item}` : item)),
    )
  }
  assert.deepEqual(await allSettledWithLimit([], 3, () => assert.fail('no item')), [])
})
