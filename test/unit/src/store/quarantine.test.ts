/*
 * Goal: an untrusted state is hidden at once and permanently, and another member's replaces it;
 * whenever the process ends, the next one has a whole state or knows that it needs one.
 * Method: the real machine on databases that outlive it; the test applies the log.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logIndex, noSnapshot } from '../../../../raft/index.ts'
import type { SnapshotMeta } from '../../../../raft/index.ts'
import { Informer } from '../../../../src/registry/informer.ts'
import { MemoryKeyValueDatabases } from '../../../../src/store/disk/memory-key-value-store.ts'
import { Store } from '../../../../src/store/store.ts'
import { HistoryTrimmer } from '../../../../src/store/trimming.ts'
import type { StoreMachine } from '../../../../src/store/store-machine.ts'
import { LocalConsensus } from '../../../../fixtures/local-consensus.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'
import { allConfigMaps } from '../../../../fixtures/store-kit.ts'
import {
  applyUpTo,
  chunksOf,
  digestsOf,
  openMachine,
  randomLog,
  tinyLimits,
} from '../../../support/fixtures/store-machines.ts'

const log = randomLog(43, 400)
const digests = digestsOf(log)
const refused = { name: 'StoreError', code: 'quarantined' }

async function healthy(index: number, entries = log): Promise<StoreMachine> {
  const machine = await openMachine({ databases: new MemoryKeyValueDatabases(), clock: new ManualClock() })
  applyUpTo(machine, entries, index)
  return machine
}

/** Stages the state of another member at `index`. */
async function stageFrom(index: number, machine: StoreMachine, entries = log): Promise<SnapshotMeta> {
  const other = await healthy(index, entries)
  const source = await other.produceSnapshot(logIndex(index))
  const chunks = await chunksOf(source)
  const sink = await machine.stageSnapshot(source.snapshot)
  for (const chunk of chunks) await sink.chunk(chunk)
  await sink.finish()
  await other.close()
  return source.snapshot
}

void test('a quarantined state is gone from disk, and a state at least as new replaces it', async () => {
  const databases = new MemoryKeyValueDatabases()
  const clock = new ManualClock()
  const machine = await openMachine({ databases, clock })
  applyUpTo(machine, log, 200)
  await clock.advance(1000)
  machine.enterQuarantine('others agree on another state')
  machine.enterQuarantine('a second reason changes nothing')
  assert.deepEqual(machine.quarantine, {
    ...{ cause: 'damaged', reason: 'others agree on another state', atLeast: 200 },
    ...{ times: 1, waitMs: 0 },
  })
  assert.deepEqual([machine.wanted, machine.capacity], [200, 0])
  await clock.advance(1000)
  assert.deepEqual(await databases.list(), [])
  await assert.rejects(stageFrom(199, machine), { code: 'stale' })
  const snapshot = await stageFrom(200, machine)
  await machine.installSnapshot(snapshot)
  assert.deepEqual([machine.quarantine, machine.wanted, machine.digest], [null, null, digests[200]])
  applyUpTo(machine, log, 250)
  await clock.advance(1000)
  assert.equal(machine.digest, digests[250])
  assert.equal(machine.appliedDisk.index, 250)
  assert.deepEqual(await databases.list(), ['db-200'])
  await machine.close()
})

void test('after a process ended in quarantine, the next one finds no trusted state, or the one that the log names', async () => {
  const databases = new MemoryKeyValueDatabases()
  const clock = new ManualClock()
  const machine = await openMachine({ databases, clock, logBase: { ...noSnapshot, index: logIndex(0) } })
  applyUpTo(machine, log, 200)
  await clock.advance(1000)
  machine.enterQuarantine('test')
  await clock.settle()
  const logBase = { ...noSnapshot, index: logIndex(50) }
  const quarantined = await openMachine({ databases: databases.clone(), clock, logBase })
  assert.match(quarantined.quarantine?.reason ?? '', /there is no database/)
  await quarantined.close()

  const snapshot = await stageFrom(220, machine)
  const before = await openMachine({ databases: databases.clone(), clock, logBase })
  assert.match(before.quarantine?.reason ?? '', /there is no database/, 'the log does not name it yet')
  await before.close()
  const behind = await openMachine({ databases: databases.clone(), clock, logBase: snapshot })
  assert.deepEqual([behind.quarantine, behind.digest], [null, digests[220]])
  await behind.close()
  await machine.close()
})

void test('waiting watches are woken by a quarantine and fail, and watches can be opened again after it', async () => {
  const clock = new ManualClock()
  const machine = await openMachine({ databases: new MemoryKeyValueDatabases(), clock })
  applyUpTo(machine, log, 200)
  const consensus = new LocalConsensus({ machine, clock })
  const store = new Store({ consensus, machine, clock, limits: tinyLimits })
  const cursor = store.watch(allConfigMaps, machine.state.revision)
  let rings = 0
  cursor.onMore(() => rings++)
  machine.enterQuarantine('test')
  await clock.settle()
  assert.equal(rings, 1)
  assert.throws(() => cursor.next(10), refused)
  cursor.onMore(() => rings++)
  await clock.settle()
  assert.equal(rings, 2, 'every watcher is woken')
  cursor.close()
  const snapshot = await stageFrom(230, machine)
  await machine.installSnapshot(snapshot)
  assert.equal(store.view().revision, machine.state.revision)
  store.watch(allConfigMaps, machine.state.revision).close()
  store.close()
  await machine.close()
})

void test('a watch idle during a quarantine is not resumed on the replaced history', async () => {
  const clock = new ManualClock()
  const machine = await openMachine({ databases: new MemoryKeyValueDatabases(), clock })
  applyUpTo(machine, log, 200)
  const store = new Store({
    consensus: new LocalConsensus({ machine, clock }),
    machine,
    clock,
    limits: tinyLimits,
  })
  const contents = (): string[] => {
    const { objects } = store.view().list(allConfigMaps, { after: null, limit: null })
    return objects.map(({ key, bytes }) => `${key} ${Buffer.from(bytes).toString()}`).sort()
  }
  const informer = new Informer<string>({
    ...{ store, clock, prefix: allConfigMaps },
    parse: ({ bytes }) => Buffer.from(bytes).toString(),
  })
  informer.start()
  const cursor = store.watch(allConfigMaps, machine.state.revision)
  machine.enterQuarantine('test')
  // Another history, with other contents under the same revisions.
  await machine.installSnapshot(await stageFrom(200, machine, randomLog(51, 400)))
  assert.throws(() => cursor.next(10), refused)
  cursor.close()
  await clock.advance(2000)
  assert.deepEqual([...informer.entries()].map(([key, value]) => `${key} ${value}`).sort(), contents())
  informer.close()
  store.close()
  await machine.close()
})

void test('a member that starts without a state refuses reads, and follows once it has one', async () => {
  const clock = new ManualClock()
  const logBase = { ...noSnapshot, index: logIndex(200) }
  const machine = await openMachine({ databases: new MemoryKeyValueDatabases(), clock, logBase })
  const consensus = new LocalConsensus({ machine, clock })
  const store = new Store({ consensus, machine, clock, limits: tinyLimits })
  const trimmer = new HistoryTrimmer({
    consensus,
    machine,
    clock,
    limits: tinyLimits,
    onFailure: () => assert.fail('no failure'),
  })
  trimmer.start()
  const informer = new Informer({ store, clock, prefix: allConfigMaps, parse: ({ key }) => key })
  informer.start()
  assert.equal(store.identity, null)
  assert.equal(store.storage.alarm, false)
  assert.throws(() => store.view(), refused)
  await clock.advance(3000)
  const snapshot = await stageFrom(230, machine)
  await machine.installSnapshot(snapshot)
  await clock.advance(3000)
  assert.equal(informer.size, store.view().count(allConfigMaps))
  assert.ok(informer.size > 0)
  informer.close()
  trimmer.stop()
  store.close()
  await machine.close()
})

void test('the database is flushed up to the requested index, and not sent when it is behind', async () => {
  const machine = await healthy(120)
  assert.ok(machine.appliedDisk.index < 120)
  const source = await machine.produceSnapshot(logIndex(120))
  assert.equal(source.snapshot.index, 120)
  await source.close()
  await assert.rejects(machine.produceSnapshot(logIndex(121)), { code: 'stale' })
  machine.enterQuarantine('test')
  await assert.rejects(machine.produceSnapshot(logIndex(1)), refused)
  await machine.close()
})

void test('a state that others do not confirm is not sent', async () => {
  let requested = 0
  const machine = await openMachine({
    databases: new MemoryKeyValueDatabases(),
    clock: new ManualClock(),
    mayGive: () => ++requested > 2,
  })
  applyUpTo(machine, log, 120)
  await assert.rejects(machine.produceSnapshot(logIndex(100)), { code: 'unconfirmed' })
  await assert.rejects(machine.produceSnapshot(), { code: 'unconfirmed' })
  const source = await machine.produceSnapshot(logIndex(100))
  await source.close()
  assert.equal(requested, 3)
  await machine.close()
})

void test('a state that becomes suspect while it is sent has no end frame, so it is not installed', async () => {
  for (const doubt of ['others differ', 'quarantined'] as const) {
    let confirmed = true
    const machine = await openMachine({
      databases: new MemoryKeyValueDatabases(),
      clock: new ManualClock(),
      mayGive: () => confirmed,
    })
    applyUpTo(machine, log, 120)
    const source = await machine.produceSnapshot(logIndex(120))
    await source.next()
    if (doubt === 'quarantined') machine.enterQuarantine(doubt)
    else confirmed = false
    await assert.rejects(chunksOf(source), { code: 'unconfirmed' }, doubt)
    await machine.close()
  }
})

void test('members that reached one index in different ways have equal samples there', async () => {
  const clock = new ManualClock()
  const limits = { ...tinyLimits, sampleEntries: 64 }
  const [whole, pieces] = [
    await openMachine({ databases: new MemoryKeyValueDatabases(), clock, limits }),
    await openMachine({ databases: new MemoryKeyValueDatabases(), clock, limits }),
  ]
  for (const machine of [whole, pieces]) machine.sampleAt(logIndex(130))
  pieces.sampleAt(logIndex(131))
  applyUpTo(whole, log, 300)
  for (let at = 7; at <= 300; at += 7) applyUpTo(pieces, log, at)
  applyUpTo(pieces, log, 300)
  for (const machine of [whole, pieces]) machine.sampleNow()
  assert.deepEqual(
    whole.samples.map(({ index }) => index),
    [64, 128, 130, 192, 256, 300],
  )
  assert.deepEqual(
    pieces.samples.filter(({ index }) => index !== 131),
    whole.samples,
  )
  for (const { index, digest } of whole.samples) assert.equal(digest, digests[index])
  pieces.enterQuarantine('test')
  assert.deepEqual(pieces.samples, [])
  await whole.close()
  await pieces.close()
})

void test('a state at which apply stopped is replaced by one beyond that index only', async () => {
  const machine = await openMachine({ databases: new MemoryKeyValueDatabases(), clock: new ManualClock() })
  applyUpTo(machine, log, 200)
  machine.quarantineState('the command at index 201 is not what its proposer made', logIndex(201))
  assert.deepEqual([machine.wanted, machine.capacity], [201, 0])
  await assert.rejects(stageFrom(200, machine), { code: 'stale' })
  await machine.installSnapshot(await stageFrom(201, machine))
  assert.deepEqual([machine.wanted, machine.digest], [null, digests[201]])
  await machine.close()
})
