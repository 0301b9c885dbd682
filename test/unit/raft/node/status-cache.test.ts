/*
 * Goal: whatever follows the status of a member gets every status, and the removal of the member.
 * Method: statuses of the test, and a listener that leaves.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { nodeId } from '../../../../raft/core/types.ts'
import type { ConsensusStatus } from '../../../../raft/index.ts'
import { StatusCache } from '../../../../raft/node/status-cache.ts'

void test('listeners get each status that is announced, until they leave', () => {
  const cache = new StatusCache(nodeId(1), () => null)
  const seen: ConsensusStatus[] = []
  const leave = cache.onStatus((status) => seen.push(status))
  const first = cache.status
  cache.notify(first)
  assert.deepEqual(seen, [first])
  cache.removed('removed from the cluster')
  assert.deepEqual(
    seen.map(({ removed }) => removed),
    [null, 'removed from the cluster'],
  )
  leave()
  cache.notify(first)
  assert.equal(seen.length, 2)
})
