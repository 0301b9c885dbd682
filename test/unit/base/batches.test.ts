/*
 * Goal: calls run in batches of a bounded size, and failures end the work without losing calls.
 * Method: calls that record when they begin and end, and calls that fail.
 */
import assert from 'node:assert/strict'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import { runInBatches } from '../../../base/batches.ts'

void test('a batch runs concurrently, and the next one begins when all its calls have ended', async () => {
  const log: string[] = []
  const result = await runInBatches(
    [1, 2, 3, 4, 5],
    { size: 2, before: async () => void log.push('before') },
    async (item) => {
      log.push(`begin ${item}`)
      for (let turns = 0; turns < item; turns++) await turn()
      log.push(`end ${item}`)
    },
  )
  assert.deepEqual(result, { succeeded: 5, failures: [] })
  assert.deepEqual(log, [
    ...['before', 'begin 1', 'begin 2', 'end 1', 'end 2'],
    ...['before', 'begin 3', 'begin 4', 'end 3', 'end 4'],
    ...['before', 'begin 5', 'end 5'],
  ])
})

void test('no batch begins after one with a failure, whose other calls are awaited and counted', async () => {
  const ended: number[] = []
  const { succeeded, failures } = await runInBatches([1, 2, 3, 4, 5, 6, 7], { size: 3 }, async (item) => {
    await turn()
    if (item === 4 || item === 5) throw new Error(`item ${item}`)
    ended.push(item)
  })
  assert.deepEqual(ended, [1, 2, 3, 6])
  assert.equal(succeeded, 4)
  assert.deepEqual(failures, [new Error('item 4'), new Error('item 5')])
})

void test('without items nothing is called', async () => {
  const never = async () => assert.fail('called')
  assert.deepEqual(await runInBatches([], { size: 1, before: never }, never), { succeeded: 0, failures: [] })
})
