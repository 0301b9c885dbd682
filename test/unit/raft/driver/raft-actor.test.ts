/*
 * Goal: the raft thread sends its last message also when its log fails, and does not begin a log
 * that lost its beginning with other members.
 * Method: the actor between two direct channels, with a manual clock.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { emptyConfiguration, logIndex, noSnapshot, nodeId, term } from '../../../../raft/core/types.ts'
import type { RecoveredLog } from '../../../../raft/ports.ts'
import type { LogToRaft, RaftToLog } from '../../../../raft/log/log-protocol.ts'
import { directChannel } from '../../../../raft/threads/direct-channel.ts'
import { defaultLimits, defaultTiming } from '../../../../raft/protocol/node-options.ts'
import type { ApiToRaft, RaftToApi } from '../../../../raft/protocol/thread-messages.ts'
import { RaftActor } from '../../../../raft/driver/raft-actor.ts'
import { MemoryNetwork, MemoryTransport } from '../../../../raft/transport/memory-transport.ts'
import { cluster } from '../../../scenario/member-infos.ts'
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

function blankLog(): RecoveredLog {
  return {
    ...{ logId: 'a1', hardState: { term: term(2), vote: null, commit: logIndex(0) }, base: noSnapshot },
    ...{ configuration: emptyConfiguration, lastIndex: logIndex(0), lastTerm: term(0), termRuns: [] },
    ...{ configurations: [], bytes: 0, repaired: null },
  }
}

/** Returns why the member ended, or null. */
async function startedWith(recovered: RecoveredLog, membersChanged: boolean): Promise<string | null> {
  const clock = new ManualClock()
  const [api, atApi] = directChannel<ApiToRaft, RaftToApi>()
  const [atLog, log] = directChannel<RaftToLog, LogToRaft>()
  const { members } = cluster([1, 2, 3])
  const transport = new MemoryTransport({
    ...{ network: new MemoryNetwork(), cluster: '', self: { id: nodeId(1), name: 'n1' }, clock },
    queueMessagesMax: 1,
  })
  const ends: string[] = []
  api.onMessages((messages) => {
    for (const message of messages) if (message.kind === 'fatal') ends.push(message.cause)
  })
  const node = { id: nodeId(1), members, membersChanged, timing: defaultTiming, limits: defaultLimits }
  new RaftActor({ node, clock, random: new SeededRandom(1), transport, api: atApi, log: atLog }).begin()
  log.post({ kind: 'opened', recovered })
  const record = { clusterId: 'c1', founded: true, founders: [] }
  api.post({ kind: 'start', applied: noSnapshot, known: [], cluster: record })
  await turn()
  api.post({ kind: 'stop' })
  await turn()
  return ends[0] ?? null
}

void test('a log that lost its first record does not begin with another list of members', async () => {
  const termRuns = [{ first: logIndex(1), term: term(2) }]
  const recovered = { ...blankLog(), lastIndex: logIndex(7), lastTerm: term(2), termRuns }
  assert.match(
    (await startedWith(recovered, true)) ?? '',
    /^the log lost its first record, and the list of initial members is not the one that it began with: /,
  )
  assert.equal(await startedWith(recovered, false), null)
  const base = { ...recovered.base, configuration: cluster([1, 2, 3]) }
  assert.equal(await startedWith({ ...recovered, base }, true), null, 'its beginning is there')
  assert.equal(await startedWith(blankLog(), true), null, 'a founding that did not finish')
})
