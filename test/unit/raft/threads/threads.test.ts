/*
 * Goal: the threads of a member do not keep the memory of a load, and threads that were not used
 * end.
 * Method: real threads that get no work.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { threadYoungGenerationMiB } from '../../../../raft/protocol/node-options.ts'
import { StartedThreads } from '../../../../raft/threads/threads.ts'

void test('threads have a small young generation, and end when they were not used', async () => {
  const threads = new StartedThreads({ hasPeers: false })
  const workers = [threads.log, threads.raft]
  for (const worker of workers) worker.ref()
  await Promise.all(workers.map((worker) => once(worker, 'online')))
  for (const { resourceLimits } of workers) {
    assert.equal(resourceLimits?.maxYoungGenerationSizeMb, threadYoungGenerationMiB)
  }
  const ends = workers.map((worker) => once(worker, 'exit'))
  await threads.close()
  await Promise.all(ends)
})
