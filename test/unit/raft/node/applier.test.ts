/*
 * Goal: the state machine gets every committed entry once and in order, whether it is streamed,
 * read from the log, or covered by a snapshot; and other work gets its turn in between.
 * Method: the test plays the raft and log threads.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyConfiguration, entryBytes, logIndex, noIndex, term } from '../../../../raft/core/types.ts'
import type { Entry, LogIndex } from '../../../../raft/core/types.ts'
import { Applier } from '../../../../raft/node/applier.ts'
import { CommittedEntryStream } from '../../../../raft/driver/committed-entry-stream.ts'
import { encodeEnvelope } from '../../../../raft/protocol/envelope.ts'
import { ListMachine } from '../../../support/fakes/list-machine.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

function entry(index: number): Entry {
  const payload = new TextEncoder().encode(`line ${index}`)
  const envelope = { session: 5, sequence: index, acknowledgedBelow: 1, expectedTerm: term(1), payload }
  return { kind: 'command', index: logIndex(index), term: term(1), data: encodeEnvelope(envelope) }
}

function entries(from: number, to: number): Entry[] {
  return Array.from({ length: to - from + 1 }, (_, at) => entry(from + at))
}

/** A machine with capacity controlled by the test. */
class LimitedMachine extends ListMachine {
  readonly persisted: number[] = []
  override capacity = 1
  wake: () => void = () => undefined

  override logPersisted(index: LogIndex): void {
    this.persisted.push(index)
  }

  override onCapacity(wake: () => void = () => undefined): void {
    this.wake = wake
  }
}

function bench(sliceEntriesMax = 100) {
  const clock = new ManualClock()
  const machine = new LimitedMachine()
  const reads: string[] = []
  const resumes: number[] = []
  const granted: number[] = []
  let cutBelow = 0
  const applier = new Applier<number>({
    ...{ machine, session: 5, clock, sliceEntriesMax, sliceBytesMax: 1e6, readBytesMax: 1e6 },
    ...{ creditBytesMin: 1e6, creditDelayMs: 20 },
    reader: {
      read: async (from: LogIndex, to: LogIndex) => {
        reads.push(`${from}-${to}`)
        // Returns at most three entries at a time, as if they were large.
        return from <= cutBelow ? null : entries(from, Math.min(to, from + 2))
      },
    },
    onSettled: () => undefined,
    onApplied: () => undefined,
    grant: (_index, credit) => granted.push(credit),
    resume: (from) => resumes.push(from),
    onBroken: (cause) => assert.fail(String(cause)),
  })
  const committed = (sent: Entry[], commit: number, persisted = commit): void =>
    applier.committed(sent, logIndex(commit), logIndex(persisted))
  const cut = (index: number): void => {
    cutBelow = index
  }
  return { clock, machine, reads, resumes, granted, applier, committed, cut }
}

void test('streamed entries are applied at once, and their credit is returned', async () => {
  const { clock, machine, applier, committed, granted, reads } = bench()
  committed(entries(1, 3), 3)
  assert.equal(applier.applied, 3)
  assert.equal(machine.lines.length, 3)
  await clock.advance(20)
  assert.deepEqual(granted, [3 * entryBytes(entry(1))])
  assert.deepEqual(reads, [])
})

void test('many entries are applied in slices, one each turn', async () => {
  const { clock, applier, committed } = bench(10)
  committed(entries(1, 25), 25)
  assert.equal(applier.applied, 10)
  assert.equal(applier.lag, 15)
  await clock.advance(0)
  assert.equal(applier.applied, 25)
})

void test('entries without credit are read from the log, until they can be streamed again', async () => {
  const { clock, applier, committed, reads, resumes, granted } = bench()
  committed([], 7)
  await clock.advance(0)
  assert.deepEqual(reads, ['1-7', '4-7', '7-7'])
  assert.equal(applier.applied, 7)
  assert.deepEqual(resumes, [8])
  await clock.advance(20)
  assert.deepEqual(granted, [0], 'entries read from the log use no credit')
})

void test('only durable entries are read from the log', async () => {
  const { clock, applier, committed, reads, resumes } = bench()
  committed([], 7, 2)
  await clock.advance(0)
  assert.deepEqual(reads, ['1-2'])
  assert.equal(applier.applied, 2)
  assert.deepEqual(resumes, [3], 'only the raft thread has the rest')
  committed(entries(3, 7), 7, 2)
  assert.equal(applier.applied, 7)
})

void test('entries that arrive twice, streamed and from the log, are applied once', async () => {
  const { clock, applier, machine, committed, granted } = bench()
  committed([], 3)
  committed(entries(1, 4), 4)
  committed(entries(1, 4), 4)
  await clock.advance(20)
  assert.equal(applier.applied, 4)
  assert.equal(machine.lines.length, 4)
  assert.deepEqual(granted, [8 * entryBytes(entry(1))], 'all credit is returned')
})

void test('nothing is applied while the machine has no capacity', async () => {
  const { clock, applier, machine, committed } = bench()
  machine.capacity = 0
  committed(entries(1, 3), 3)
  await clock.advance(100)
  assert.equal(applier.applied, 0)
  machine.capacity = 1
  machine.wake()
  assert.equal(applier.applied, 3)
})

void test('after an installation the applier continues with entries from the log', async () => {
  const { clock, applier, machine, committed, reads, resumes, cut } = bench()
  const source = new ListMachine()
  source.apply(entries(1, 10), 5)
  const snapshot = { index: logIndex(10), term: term(1), configuration: emptyConfiguration }
  const sink = await machine.stageSnapshot(snapshot)
  const from = await source.produceSnapshot()
  for (let bytes = await from.next(); bytes !== null; bytes = await from.next()) await sink.chunk(bytes)
  await sink.finish()
  cut(10)
  committed([], 12, 12)
  await clock.advance(0)
  assert.equal(applier.applied, 0, 'compacted: it waits for the snapshot')
  await applier.install(snapshot)
  assert.equal(applier.applied, 10)
  applier.resume()
  await clock.advance(0)
  assert.deepEqual(reads, ['1-12', '11-12'])
  assert.equal(applier.applied, 12)
  assert.deepEqual(resumes, [11, 13])
  assert.equal(machine.lines.length, 12)
})

void test('entries held back for lack of credit arrive once it is returned, durable on this member or not', async () => {
  const { clock, applier, granted, resumes } = bench()
  const deliveries: (() => void)[] = []
  const feed = new CommittedEntryStream(
    {
      creditBytes: 2 * entryBytes(entry(1)),
      tailBytesMax: 1e6,
      post: (message) => {
        assert.ok(message.kind === 'committed')
        deliveries.push(() => applier.committed(message.entries, message.commit, message.persisted))
      },
    },
    noIndex,
  )
  // Delivers the messages of both threads, in order.
  const exchange = (): void => {
    for (let more = true; more;) {
      more = deliveries.length + granted.length + resumes.length > 0
      for (const deliver of deliveries.splice(0)) deliver()
      for (const credit of granted.splice(0)) feed.granted(credit)
      for (const from of resumes.splice(0)) feed.resume(logIndex(from))
    }
  }
  feed.resume(logIndex(1))
  feed.writing(1, null, entries(1, 3))
  // Committed by the others; the write of this member never completes.
  feed.move(logIndex(3))
  exchange()
  assert.equal(applier.applied, 2)
  await clock.advance(20)
  exchange()
  assert.equal(applier.applied, 3)
})

void test('a stopped applier applies nothing, and reports nothing to the machine', async () => {
  const { clock, applier, machine, committed, reads, resumes, granted } = bench()
  committed(entries(1, 2), 2)
  applier.stop()
  committed(entries(3, 4), 6, 5)
  await clock.advance(100)
  assert.equal(applier.applied, 2)
  assert.deepEqual([machine.lines.length, machine.persisted], [2, [2]])
  assert.deepEqual([reads, resumes, granted], [[], [], []])
})
