/*
 * Goal: a snapshot is sent and received only in the term in which it began, and only a snapshot
 * that is still staged reaches the core.
 * Method: the test plays the core, the network and the api thread.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Deferred } from '../../../../base/deferred.ts'
import type { Message } from '../../../../raft/core/message.ts'
import { emptyConfiguration, logIndex, nodeId, noIndex, term } from '../../../../raft/core/types.ts'
import type { FollowerStatus } from '../../../../raft/core/ready.ts'
import type { LogIndex, SnapshotMeta } from '../../../../raft/core/types.ts'
import type { RaftToApi } from '../../../../raft/protocol/thread-messages.ts'
import { SnapshotInbox } from '../../../../raft/driver/snapshot-inbox.ts'
import { SnapshotOutbox } from '../../../../raft/driver/snapshot-outbox.ts'
import type { SnapshotHeader, Transport } from '../../../../raft/ports.ts'

const [self, other] = [nodeId(1), nodeId(2)]

function at(index: number): SnapshotMeta {
  return { index: logIndex(index), term: term(1), configuration: emptyConfiguration }
}

function outbox() {
  const sent: SnapshotHeader[] = []
  const reports: string[] = []
  const posted: RaftToApi[] = []
  const transport: Transport = {
    start: async () => undefined,
    setPeers: () => undefined,
    send: () => undefined,
    refuse: () => undefined,
    sendSnapshot: async (_to, header) => void sent.push(header),
    close: async () => undefined,
  }
  const needs = {
    self,
    term: term(4),
    commit: logIndex(10),
    transport,
    post: (message: RaftToApi) => void posted.push(message),
    complete: (snapshot: SnapshotMeta) => snapshot,
    report: (peer: number, outcome: string) => void reports.push(`${outcome} ${peer}`),
  }
  return { needs, sent, reports, posted, box: new SnapshotOutbox(needs, { streamsMax: 2, windowChunks: 1 }) }
}

function follower(id: number, match: number, state: FollowerStatus['state']): FollowerStatus {
  return { id: nodeId(id), state, match: logIndex(match), next: logIndex(match + 1), recentlyActive: true }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

void test('a snapshot requested in an earlier term is not sent in the current term', async () => {
  const { box, needs, sent, reports, posted } = outbox()
  box.wanted(other)
  // Another member leads by the time the api thread has opened the source.
  needs.term = term(5)
  box.take({ kind: 'source-opened', stream: 1, snapshot: at(10) })
  await settled()
  assert.deepEqual(
    sent.filter((header) => header.term === 5),
    [],
  )
  assert.deepEqual(reports, ['failed 2'])
  assert.equal(posted.at(-1)?.kind, 'source-close')
  assert.deepEqual(box.logNeeds([]), [])
})

void test('a snapshot requested in this term is sent in it', async () => {
  const { box, sent, reports } = outbox()
  box.wanted(other)
  box.take({ kind: 'source-opened', stream: 1, snapshot: at(10) })
  await settled()
  assert.deepEqual(
    sent.map((header) => header.term),
    [4],
  )
  assert.deepEqual(reports, ['finished 2'])
})

void test('a peer is unserved from the request of its snapshot until one was opened for it', () => {
  const { box } = outbox()
  assert.equal(box.isUnserved(other), false)
  box.wanted(other)
  assert.equal(box.isUnserved(other), true)
  box.take({ kind: 'source-failed', stream: 1, cause: 'the state is suspect' })
  assert.equal(box.isUnserved(other), true)
  box.wanted(other)
  box.take({ kind: 'source-opened', stream: 2, snapshot: at(10) })
  assert.equal(box.isUnserved(other), false)
  box.wantedBy(nodeId(3), logIndex(7))
  box.logNeeds([])
  assert.equal(box.isUnserved(nodeId(3)), false, 'it is not a follower any more')
})

void test('the log is kept from a snapshot on while it is sent, and until its peer caught up with the time of the transfer', async () => {
  const { box, needs } = outbox()
  const [delivered, failed] = [new Deferred<void>(), new Deferred<void>()]
  const pulled: (() => Promise<Uint8Array | null>)[] = []
  needs.transport.sendSnapshot = (to, _header, next) => {
    pulled.push(next)
    return (to === other ? delivered : failed).promise
  }
  const [one, two] = [follower(2, 3, 'snapshot'), follower(3, 4, 'snapshot')]
  box.wanted(one.id)
  assert.deepEqual(box.logNeeds([one]), [], 'its index is not known yet')
  box.take({ kind: 'source-opened', stream: 1, snapshot: at(10) })
  box.wanted(two.id)
  box.take({ kind: 'source-opened', stream: 2, snapshot: at(12) })
  const piece = pulled[0]?.()
  box.take({ kind: 'source-chunk', stream: 1, bytes: new Uint8Array(700) })
  await piece
  assert.deepEqual(box.logNeeds([one, two]), [
    { from: 10, stateBytes: 700 },
    { from: 12, stateBytes: 0 },
  ])
  needs.commit = logIndex(30)
  delivered.resolve()
  failed.reject(new Error('the link broke'))
  await settled()
  assert.deepEqual(box.logNeeds([one, two]), [{ from: 10, stateBytes: 700 }])
  assert.deepEqual(box.logNeeds([follower(2, 29, 'replicate')]), [{ from: 29, stateBytes: 700 }])
  assert.deepEqual(box.logNeeds([follower(2, 30, 'replicate')]), [{ from: 30, stateBytes: 0 }])
  assert.deepEqual(box.logNeeds([]), [], 'it does not lead any more')
  assert.deepEqual(box.logNeeds([follower(2, 3, 'probe')]), [{ from: 3, stateBytes: 0 }], 'another term')
})

void test('a peer that waits for a stream gets the next one, before a peer whose stream just broke', async () => {
  const { box, needs, posted, reports } = outbox()
  const broken: (() => void)[] = []
  needs.transport.sendSnapshot = () =>
    new Promise((_resolve, reject) => broken.push(() => reject(new Error('the link broke'))))
  const [one, two, three, four] = [other, nodeId(3), nodeId(4), nodeId(5)]
  // The core requests again as soon as a stream broke.
  let requested = 0
  needs.report = (peer, outcome) => {
    reports.push(`${outcome} ${peer}`)
    if (requested++ > 2) return
    if (peer === one) queueMicrotask(() => box.wanted(one))
  }
  const opened = (): readonly number[] =>
    posted
      .filter(({ kind }) => kind === 'source-open')
      .map((message) => ('stream' in message ? message.stream : 0))
  box.wanted(one)
  box.wanted(two)
  box.take({ kind: 'source-opened', stream: 1, snapshot: at(10) })
  box.take({ kind: 'source-opened', stream: 2, snapshot: at(10) })
  box.wantedBy(three, logIndex(7))
  box.wanted(four)
  assert.deepEqual(reports, ['failed 5'])
  assert.deepEqual(opened(), [1, 2])
  broken[0]?.()
  await settled()
  // The core did not request the stream for `three`. `one` asked again too late for a free stream.
  assert.deepEqual(opened(), [1, 2, 3])
  assert.deepEqual(posted.at(-1), { kind: 'source-open', stream: 3, atLeast: logIndex(7) })
  assert.deepEqual(reports.slice(0, 3), ['failed 5', 'failed 2', 'failed 2'])
  broken[1]?.()
  await settled()
  assert.deepEqual(posted.at(-1), { kind: 'source-open', stream: 4, atLeast: null })
  // Stream 3 fails before it begins: the core of the next term requests it again if needed.
  needs.term = term(5)
  box.take({ kind: 'source-failed', stream: 3, cause: 'disk' })
  assert.deepEqual(opened(), [1, 2, 3, 4])
})

function inbox(passToCore: (message: Message) => void) {
  const posted: RaftToApi[] = []
  const begun: SnapshotMeta[] = []
  const needs = {
    self,
    commit: noIndex,
    stateWanted: null as LogIndex | null,
    /** The result of `beginLogAfter`. */
    answer: 'begun' as 'begun' | 'later' | 'never',
    beginLogAfter: (snapshot: SnapshotMeta) => {
      begun.push(snapshot)
      return needs.answer
    },
    post: (message: RaftToApi) => void posted.push(message),
    wake: () => undefined,
    violation: () => null,
    passToCore,
  }
  return { posted, needs, begun, box: new SnapshotInbox(needs, { windowChunks: 1 }) }
}

const header = { from: other, to: self, term: term(4), purpose: 'catch-up' } as const

void test('a staged snapshot that a newer stream replaced in the same turn is not offered to the core', async () => {
  const staged: Message[] = []
  const { posted, box } = inbox((message) => void staged.push(message))
  const opening = box.receive({ ...header, snapshot: at(10) })
  box.take({ kind: 'sink-taken', stream: 1 })
  const first = await opening
  const finished = first.finish().catch((cause: unknown) => String(cause))
  // The last chunk is verified; in the same turn the sender, which timed out, opens a new stream.
  box.take({ kind: 'sink-taken', stream: 1 })
  void box.receive({ ...header, snapshot: at(12) })
  assert.match(String(await finished), /aborted/)
  box.flush()
  assert.deepEqual(staged, [])
  assert.equal(posted.at(-1)?.kind, 'sink-open')
})

void test('an assertion of the core about a snapshot ends the turn, not the stream', async () => {
  const { box } = inbox(() => assert.fail('a term has one leader'))
  const opening = box.receive({ ...header, snapshot: at(10) })
  box.take({ kind: 'sink-taken', stream: 1 })
  const finished = (await opening).finish()
  box.take({ kind: 'sink-taken', stream: 1 })
  await finished
  await assert.rejects(box.receive({ ...header, snapshot: at(12) }), /is being installed/)
  assert.throws(() => box.flush(), /a term has one leader/)
  box.flush()
})

/** Passes a whole snapshot to the inbox. */
async function stage(box: SnapshotInbox, wanted: Parameters<SnapshotInbox['receive']>[0]): Promise<void> {
  const opening = box.receive(wanted)
  box.take({ kind: 'sink-taken', stream: 1 })
  const finished = (await opening).finish()
  box.take({ kind: 'sink-taken', stream: 1 })
  await finished
}

const repair = { ...header, purpose: 'repair' } as const

void test('a repair snapshot is accepted only when it was requested, from the requested index on', async () => {
  const { box, needs } = inbox(() => undefined)
  needs.commit = logIndex(20)
  await assert.rejects(box.receive({ ...repair, snapshot: at(15) }), /did not request/)
  needs.stateWanted = logIndex(16)
  await assert.rejects(box.receive({ ...repair, snapshot: at(15) }), /did not request/)
  await assert.rejects(box.receive({ ...header, snapshot: at(18) }), /does not need a snapshot/)
  await stage(box, { ...repair, snapshot: at(18) })
})

void test('the core reports the log index to a leader that sends an unneeded snapshot', async () => {
  const staged: Message[] = []
  const { box, needs, posted } = inbox((message) => void staged.push(message))
  needs.commit = logIndex(20)
  await assert.rejects(box.receive({ ...header, snapshot: at(20) }), /does not need a snapshot/)
  assert.equal(staged.length, 0, 'in a turn, and not before')
  box.flush()
  box.turnEnded()
  box.flush()
  assert.deepEqual(
    staged.map((message) => message.kind === 'snapshot' && message.snapshot.index),
    [20],
  )
  assert.ok(
    posted.every(({ kind }) => kind !== 'install' && kind !== 'sink-open'),
    'nothing is staged',
  )
})

void test('a repair snapshot within the log makes the log begin after it as soon as possible, and is installed then', async () => {
  const staged: Message[] = []
  const { box, needs, begun, posted } = inbox((message) => void staged.push(message))
  needs.commit = logIndex(20)
  needs.stateWanted = logIndex(16)
  needs.answer = 'later'
  await stage(box, { ...repair, snapshot: at(18) })
  box.flush()
  box.turnEnded()
  assert.deepEqual([staged, begun.length], [[], 1], 'the core is not involved')
  needs.answer = 'begun'
  box.turnEnded()
  box.turnEnded()
  assert.equal(begun.length, 2)
  await assert.rejects(box.receive({ ...repair, snapshot: at(19) }), /is being installed/)
  box.install(at(18))
  box.installed()
  assert.equal(posted.at(-1)?.kind, 'install')
  needs.answer = 'never'
  const again = box.receive({ ...repair, snapshot: at(19) })
  box.take({ kind: 'sink-taken', stream: 2 })
  await again
})

void test('a repair snapshot beyond the log is offered to the core, and to the log if the core does not take it', async () => {
  const staged: Message[] = []
  const { box, needs, begun } = inbox((message) => void staged.push(message))
  needs.commit = logIndex(10)
  needs.stateWanted = logIndex(10)
  await stage(box, { ...repair, snapshot: at(18) })
  box.flush()
  assert.equal(staged.length, 1)
  needs.commit = logIndex(18)
  box.turnEnded()
  assert.deepEqual(
    begun.map(({ index }) => index),
    [18],
  )
})

void test('a waiting repair snapshot is replaced only by one of a later leader', async () => {
  const { box, needs, begun, posted } = inbox(() => undefined)
  needs.commit = logIndex(10)
  needs.stateWanted = logIndex(10)
  await stage(box, { ...repair, snapshot: at(18) })
  box.flush()
  // This member knows a later term by now, so the core did not use the snapshot; and the entries up
  // to its index never arrive.
  needs.answer = 'later'
  box.turnEnded()
  for (const purpose of ['repair', 'catch-up'] as const)
    await assert.rejects(box.receive({ ...header, purpose, snapshot: at(19) }), /is being installed/)
  const later = box.receive({ ...header, term: term(5), snapshot: at(30) })
  assert.equal(posted.at(-1)?.kind, 'sink-open')
  box.turnEnded()
  assert.equal(begun.length, 1, 'the replaced one does not exist any more')
  box.take({ kind: 'sink-taken', stream: 2 })
  await later
})

void test('a snapshot that a peer requested is reported to the core only if the core waits too', async () => {
  const { box, sent, reports } = outbox()
  box.wantedBy(other, logIndex(9))
  box.wantedBy(other, logIndex(9))
  box.take({ kind: 'source-opened', stream: 1, snapshot: at(10) })
  await settled()
  assert.deepEqual(
    sent.map(({ purpose }) => purpose),
    ['repair'],
  )
  assert.deepEqual(reports, [])
  box.wantedBy(other, logIndex(9))
  box.wanted(other)
  box.take({ kind: 'source-opened', stream: 2, snapshot: at(10) })
  await settled()
  assert.deepEqual(reports, ['failed 2'], 'the core requests again')
})

void test('a stream whose snapshot cannot be staged frees its slot for another sender', async () => {
  const { box, posted } = inbox(() => undefined)
  const first = box.receive({ ...header, snapshot: at(10) })
  box.take({ kind: 'sink-failed', stream: 1, cause: 'disk full' })
  await assert.rejects(first, /disk full/)
  const second = box.receive({ ...header, from: nodeId(3), snapshot: at(11) })
  box.take({ kind: 'sink-taken', stream: 2 })
  await second
  assert.deepEqual(
    posted.map(({ kind }) => kind),
    ['sink-open', 'sink-open'],
  )
})
