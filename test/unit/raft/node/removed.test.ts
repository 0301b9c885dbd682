/*
 * Goal: the owner of a node is notified of its removal once.
 * Method: a node; the test plays its raft thread.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { logIndex, nodeId } from '../../../../raft/core/types.ts'
import { RaftNode } from '../../../../raft/node/node.ts'
import { defaultLimits, defaultTiming } from '../../../../raft/protocol/node-options.ts'
import { MemoryClusterRecord } from '../../../../raft/protocol/founding.ts'
import { MemoryPeerBook } from '../../../../raft/protocol/peer-log-ids.ts'
import type { ApiToRaft, RaftToApi } from '../../../../raft/protocol/thread-messages.ts'
import { directChannel } from '../../../../raft/threads/direct-channel.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

void test('a removal that the raft thread reports twice is reported to the owner once', async () => {
  const [raft, atRaft] = directChannel<ApiToRaft, RaftToApi>()
  const causes: string[] = []
  new RaftNode<number>({
    ...{ clock: new ManualClock(), random: new SeededRandom(1), raft, onPeerEvent: null },
    node: { id: nodeId(1), members: [], timing: defaultTiming, limits: defaultLimits },
    reader: { read: () => Promise.reject(new Error('nothing is read')) },
    ...{ peerBook: new MemoryPeerBook(), clusterRecord: new MemoryClusterRecord() },
    onFatal: (cause) => assert.fail(cause),
    onRemoved: (cause) => causes.push(cause),
    close: () => Promise.resolve(),
  })
  for (const cause of ['first', 'second']) atRaft.post({ kind: 'removed', cause, index: logIndex(7) })
  await new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
  assert.deepEqual(causes, ['first'])
})
