/*
 * Goal: the raft thread always sends its last message, whatever happens to its log.
 * Method: the actor between two direct channels, with a manual clock.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { nodeId } from '../../../../raft/index.ts'
import type { LogToRaft, RaftToLog } from '../../../../raft/log/log-protocol.ts'
import { directChannel } from '../../../../raft/threads/direct-channel.ts'
import { defaultLimits, defaultTiming } from '../../../../raft/protocol/node-options.ts'
import type { ApiToRaft, RaftToApi } from '../../../../raft/protocol/thread-messages.ts'
import { RaftActor } from '../../../../raft/driver/raft-actor.ts'
import { MemoryNetwork, MemoryTransport } from '../../../../raft/transport/memory-transport.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(() => setImmediate(resolve)))
}

void test('a stop completes although the log fails during it', async () => {
  const clock = new ManualClock()
  const [api, atApi] = directChannel<ApiToRaft, RaftToApi>()
  const [atLog, log] = directChannel<RaftToLog, LogToRaft>()
  const self = { id: nodeId(1), name: 'n1' }
  const transport = new MemoryTransport({
    ...{ network: new MemoryNetwork(), cluster: '', self, clock, queueMessagesMax: 1 },
  })
  const toApi: RaftToApi['kind'][] = []
  const toLog: RaftToLog['kind'][] = []
  api.onMessages((messages) => toApi.push(...messages.map(({ kind }) => kind)))
  log.onMessages((messages) => toLog.push(...messages.map(({ kind }) => kind)))
  const node = { id: self.id, members: [], timing: defaultTiming, limits: defaultLimits }
  new RaftActor({ node, clock, random: new SeededRandom(1), transport, api: atApi, log: atLog }).begin()
  api.post({ kind: 'stop' })
  await turn()
  assert.deepEqual(toLog, ['stop'])
  log.post({ kind: 'failed', code: 'io', message: 'the disk failed' })
  await turn()
  assert.deepEqual(toApi, ['stopped'])
})
