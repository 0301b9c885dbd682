import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { heldMessagesMax } from '../../../../raft/core/config.ts'
import { describeMessage, describeReady } from '../../../../raft/core/describe.ts'
import { Raft } from '../../../../raft/core/raft.ts'
import { emptyConfiguration, logIndex, nodeId, noSnapshot, term } from '../../../../raft/core/types.ts'
import { cluster } from '../../../scenario/member-infos.ts'
import { scenarioConfig } from '../../../scenario/world.ts'
import { Solo } from './solo.ts'

/*
 * Goal: the interface of the core to its driver: when there is work, which proposals are dropped,
 * the initial state, and limits.
 */

const nothing = {
  hardState: { term: term(0), vote: null, commit: logIndex(0) },
  base: noSnapshot,
  configuration: emptyConfiguration,
  configurations: [],
  lastIndex: logIndex(0),
  lastTerm: term(0),
  termRuns: [],
}

void test('a member without a configuration never campaigns', () => {
  const raft = new Raft(scenarioConfig(nodeId(1), {}), nothing)
  const ready = raft.ready()
  assert.equal(ready.transition?.role, 'follower')
  for (let at = 0; at < 100; at++) raft.tick()
  raft.campaign()
  assert.deepEqual([raft.status().role, raft.hasReady()], ['follower', false])
})

void test('after a start one Ready is due, without a commit, because the durably applied index is committed already', () => {
  const solo = new Raft(
    scenarioConfig(nodeId(1), {}),
    {
      ...nothing,
      hardState: { term: term(3), vote: null, commit: logIndex(2) },
      base: { index: logIndex(1), term: term(1), configuration: cluster([1, 2, 3]) },
      configuration: cluster([1, 2, 3]),
      lastIndex: logIndex(4),
      lastTerm: term(3),
      termRuns: [
        { first: logIndex(2), term: term(1) },
        { first: logIndex(4), term: term(3) },
      ],
    },
    logIndex(3),
  )
  assert.equal(solo.hasReady(), true)
  assert.deepEqual(solo.ready().commit, null)
  assert.equal(solo.commit, 3, 'the durably applied index is committed')
  assert.equal(solo.hasReady(), false)
})

void test('inconsistent recovered state is an assertion failure', () => {
  const config = scenarioConfig(nodeId(1), {})
  const hardState = { term: term(1), vote: null, commit: logIndex(3) }
  assert.throws(() => new Raft(config, { ...nothing, hardState }), { name: 'BrokenInvariant' })
  assert.throws(() => new Raft(config, nothing, logIndex(1)), { name: 'BrokenInvariant' })
  assert.throws(() => new Raft({ ...config, electionTicks: 2 }, nothing), { name: 'BrokenInvariant' })
})

void test('an only voter becomes leader, commits and confirms reads by itself', () => {
  const solo = new Solo({ configuration: cluster([1]) })
  solo.raft.campaign()
  solo.work()
  assert.deepEqual([solo.raft.status().role, solo.raft.commit], ['leader', 1])
  assert.deepEqual(solo.propose('a', 'b'), { kind: 'accepted', first: 2 })
  assert.equal(solo.raft.commit, 3)
  const read = solo.raft.readIndex()
  assert.ok(read.kind === 'accepted')
  solo.work()
  assert.deepEqual(solo.confirmed, [{ context: read.context, index: 3 }])
})

void test('all proposals of a turn share one message', () => {
  const solo = new Solo()
  solo.lead([2, 3])
  const bytes = Uint8Array.of(1)
  for (let at = 0; at < 5; at++) solo.raft.propose([bytes], solo.raft.term)
  solo.work()
  const appends = solo.takeAll('append-request')
  assert.deepEqual(
    appends.map((message) => message.entries.length),
    [5, 5],
  )
})

void test('a proposal for another term is dropped', () => {
  const solo = new Solo()
  solo.lead()
  assert.deepEqual(solo.raft.propose([Uint8Array.of(1)], term(7)), {
    kind: 'dropped',
    reason: 'term-changed',
  })
})

void test('proposals above the uncommitted limit are dropped, and accepted again after commits', () => {
  const solo = new Solo({ options: { uncommittedBytesMax: 1100, appendBytesMax: 1000 } })
  solo.lead()
  const big = 'x'.repeat(1000)
  assert.equal(solo.propose(big).kind, 'accepted')
  assert.deepEqual(solo.propose(big), { kind: 'dropped', reason: 'too-many-uncommitted' })
  solo.acceptAll(2)
  assert.equal(solo.propose(big).kind, 'accepted')
})

void test('a leader with a stalled disk fills its memory up to the limit, though others commit', () => {
  const options = { uncommittedBytesMax: 2000, appendBytesMax: 1000, logCacheBytesMax: 1000 }
  const solo = new Solo({ options })
  solo.lead([2, 3])
  solo.manual = true
  let taken = 0
  while (solo.propose('x'.repeat(500)).kind === 'accepted' && taken < 100) {
    taken++
    solo.acceptAll(2)
    solo.acceptAll(3)
  }
  assert.ok(taken >= 2 && taken < 10, `${taken} were accepted`)
  while (solo.member.pendingWrites.length > 0) solo.finishWrite()
  assert.equal(solo.propose('x').kind, 'accepted')
})

void test('a new commit index alone causes no write', () => {
  const solo = new Solo({ log: [1, 1], term: 1 })
  solo.receive(solo.append(2, 1, [1, 1], 2, 0))
  solo.manual = true
  solo.receive(solo.append(2, 1, [1, 1], 2, 2))
  assert.deepEqual([solo.raft.commit, solo.member.pendingWrites.length], [2, 0])
  solo.receive(solo.append(2, 1, [1, 1, 1], 2, 2))
  assert.equal(solo.member.pendingWrites[0]?.hardState?.commit, 2)
})

void test('a message for another member, or from itself, changes nothing', () => {
  const solo = new Solo()
  const heartbeat = { kind: 'heartbeat', term: term(9), commit: logIndex(0), context: null } as const
  solo.receive({ ...heartbeat, from: nodeId(2), to: nodeId(3) })
  solo.receive({ ...heartbeat, from: nodeId(1), to: nodeId(1) })
  assert.deepEqual([solo.raft.term, solo.take()], [0, []])
})

void test('entries that left memory are fetched once, however many followers wait for them', () => {
  const solo = new Solo({ log: [1, 1, 1], term: 1, commit: 1 })
  solo.lead([2, 3], 'silent')
  const refused = {
    kind: 'append-refused',
    index: logIndex(3),
    hintIndex: logIndex(1),
    hintTerm: term(1),
  } as const
  for (const id of [2, 3]) solo.raft.step({ ...solo.from(id), ...refused })
  for (const id of [2, 3]) solo.raft.step({ ...solo.from(id), kind: 'append-accepted', index: logIndex(1) })
  const ready = solo.raft.ready()
  assert.deepEqual(
    ready.fetches.map((fetch) => fetch.from),
    [2],
  )
  solo.member.fetch(logIndex(2), 1000)
  assert.deepEqual(
    solo.raft
      .ready()
      .messagesAtOnce.map((message) => [
        message.to,
        message.kind === 'append-request' && message.entries.length,
      ]),
    [
      [2, 3],
      [3, 3],
    ],
  )
})

void test('fetched entries of a log that was overwritten since are not sent', () => {
  const solo = new Solo({ log: [1, 1, 1], term: 1, commit: 1 })
  solo.lead([2, 3], 'silent')
  solo.raft.step({ ...solo.from(2), kind: 'append-accepted', index: logIndex(1) })
  assert.deepEqual(
    solo.raft.ready().fetches.map((fetch) => fetch.from),
    [2],
  )
  const stale = { kind: 'command', index: logIndex(2), term: term(2), data: Uint8Array.of(9) } as const
  solo.raft.supply([stale])
  const ready = solo.raft.ready()
  assert.deepEqual([ready.messagesAtOnce, ready.fetches.map((fetch) => fetch.from)], [[], [2]])
})

void test('descriptions fit on one line, and show only the size of commands', () => {
  const solo = new Solo({ configuration: cluster([1, 2, 3], [4]) })
  solo.lead([2, 3])
  solo.propose('secret')
  const append = solo.takeAll('append-request')[0]
  assert.ok(append !== undefined)
  assert.equal(describeMessage(append), '1->2 append-request term=1 prev=1/1 commit=1 [1/2 6 bytes]')
  solo.raft.readIndex()
  solo.raft.propose([Uint8Array.of(1)], solo.raft.term)
  const lines = describeReady(solo.raft.ready())
  assert.deepEqual(
    lines.filter((line) => line.startsWith('persist')),
    ['persist #4 [1/3 1 bytes]'],
  )
  assert.ok(lines.includes('send 1->2 heartbeat term=1 commit=1 read=1'))
})

void test('equal seeds give equal cores', () => {
  const run = (): readonly string[] => {
    const solo = new Solo({ options: { random: new SeededRandom(7) } })
    solo.tick(100)
    return solo.take().map((message) => describeMessage(message))
  }
  assert.deepEqual(run(), run())
  assert.ok(run().length > 0)
})

void test('a stalled disk holds a limited number of responses; the newest are sent once it continues', () => {
  const solo = new Solo({ log: [1], term: 1 })
  solo.manual = true
  const terms = [1, 2]
  solo.receive(solo.append(2, 2, terms, 1, 0))
  for (let at = 0; at < 3 * heldMessagesMax; at++) solo.receive(solo.append(2, 2, terms, 2, 1))
  assert.deepEqual(solo.take(), [])
  while (solo.member.pendingWrites.length > 0) solo.finishWrite()
  const answers = solo.takeAll('append-accepted')
  assert.ok(answers.length <= heldMessagesMax + 2, `${answers.length} responses were held`)
  assert.equal(answers.at(-1)?.index, 2)
})
