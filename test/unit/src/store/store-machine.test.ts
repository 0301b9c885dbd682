/*
 * Goal: a disk that refuses writes stops the member, and damaged records quarantine the state;
 * stagings are serialized; readers survive the installation of a snapshot.
 * Method: databases that refuse, forget or damage on demand under the real machine and store.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logIndex } from '../../../../raft/index.ts'
import type {
  KeyValueChange,
  KeyValueDatabases,
  KeyValueStore,
} from '../../../../src/store/disk/key-value-store.ts'
import { MemoryKeyValueDatabases } from '../../../../src/store/disk/memory-key-value-store.ts'
import { DatabaseError } from '../../../../src/store/store-errors.ts'
import { revision } from '../../../../src/store/revision.ts'
import type { StoreMachine } from '../../../../src/store/store-machine.ts'
import { Store } from '../../../../src/store/store.ts'
import { LocalConsensus } from '../../../../fixtures/local-consensus.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'
import { allConfigMaps, configMapKey } from '../../../../fixtures/store-kit.ts'
import {
  applyUpTo,
  chunksOf,
  digestsOf,
  openMachine,
  randomLog,
  tinyLimits,
} from '../../../support/fixtures/store-machines.ts'

const log = randomLog(41, 400)
const digests = digestsOf(log)

/** Databases whose stores behave as the test decides. */
function databasesWith(change: (store: KeyValueStore) => Partial<KeyValueStore>): KeyValueDatabases {
  const memory = new MemoryKeyValueDatabases()
  return {
    list: () => memory.list(),
    destroy: (name) => memory.destroy(name),
    markQuarantined: (name, reason) => memory.markQuarantined(name, reason),
    quarantineMarks: () => memory.quarantineMarks(),
    quarantine: (name) => memory.quarantine(name),
    discardQuarantined: () => memory.discardQuarantined(),
    open: async (name) => {
      const store = await memory.open(name)
      const plain: KeyValueStore = {
        getMany: (keys) => store.getMany(keys),
        write: (changes: readonly KeyValueChange[]) => store.write(changes),
        snapshot: () => store.snapshot(),
        compact: () => store.compact(),
        close: () => store.close(),
      }
      return { ...plain, ...change(store) }
    },
  }
}

void test('a disk that refuses a batch stops the member once, and nothing more is applied', async () => {
  const full = new DatabaseError('io', 'no space left on device')
  const databases = databasesWith(() => ({ write: () => Promise.reject(full) }))
  const clock = new ManualClock()
  const failures: unknown[] = []
  const machine = await openMachine({ databases, clock, onFailure: (cause) => failures.push(cause) })
  applyUpTo(machine, log, 50)
  await clock.advance(1000)
  assert.deepEqual(failures, [full])
  assert.equal(machine.appliedDisk.index, 0)
  assert.throws(() => applyUpTo(machine, log, 51), full)
  await machine.close()
  assert.equal(clock.pending, 0)
})

const refused = { name: 'StoreError', code: 'quarantined' }

async function storeOn(
  databases: KeyValueDatabases,
  failures: unknown[],
): Promise<{ store: Store; machine: StoreMachine }> {
  const clock = new ManualClock()
  const machine = await openMachine({ databases, clock, onFailure: (cause) => failures.push(cause) })
  applyUpTo(machine, log, 100)
  await clock.advance(1000)
  const consensus = new LocalConsensus({ machine, clock })
  return { machine, store: new Store({ consensus, machine, clock, limits: tinyLimits }) }
}

for (const [what, spoil] of [
  ['damaged', (value: Uint8Array | null) => value?.map((byte, at) => (at === 60 ? byte ^ 1 : byte)) ?? null],
  ['missing', () => null],
] as const) {
  void test(`a version that is ${what} on disk is not served, nor is anything afterwards`, async () => {
    const failures: unknown[] = []
    let spoiled = false
    const databases = databasesWith((store) => ({
      getMany: async (keys) => (await store.getMany(keys)).map((value) => (spoiled ? spoil(value) : value)),
    }))
    const { store, machine } = await storeOn(databases, failures)
    const past = revision(machine.state.history.trimmed)
    spoiled = true
    const reading = Promise.resolve(store.watch(allConfigMaps, past).next(5))
    await assert.rejects(reading, refused)
    assert.match(machine.quarantine?.reason ?? '', /version/)
    const deadline = 1000
    assert.throws(() => store.view(), refused)
    assert.throws(() => store.viewAt(past), refused)
    assert.throws(() => store.settings, refused)
    assert.equal(store.identity, null)
    await assert.rejects(store.barrier(deadline), refused)
    await assert.rejects(store.waitFor(past, deadline), refused)
    await assert.rejects(store.write({ kind: 'trim', upTo: past }, deadline), refused)
    assert.throws(() => store.watch(allConfigMaps, past), refused)
    await assert.rejects(machine.produceSnapshot(), refused)
    assert.equal(failures.length, 0, 'the member keeps running')
    store.close()
    await machine.close()
  })
}

async function snapshotAt(index: number): Promise<{
  snapshot: Awaited<ReturnType<StoreMachine['produceSnapshot']>>['snapshot']
  chunks: Uint8Array[]
}> {
  const machine = await openMachine({ databases: new MemoryKeyValueDatabases(), clock: new ManualClock() })
  applyUpTo(machine, log, index)
  await machine.flushed()
  const source = await machine.produceSnapshot()
  const chunks = await chunksOf(source)
  await machine.close()
  return { snapshot: source.snapshot, chunks }
}

async function receive(machine: StoreMachine, from: Awaited<ReturnType<typeof snapshotAt>>): Promise<void> {
  const sink = await machine.stageSnapshot(from.snapshot)
  for (const chunk of from.chunks) await sink.chunk(chunk)
  await sink.finish()
}

void test('stagings that overlap, abort and repeat end in the last one', async () => {
  const from = await snapshotAt(300)
  const databases = new MemoryKeyValueDatabases()
  const machine = await openMachine({ databases, clock: new ManualClock() })
  const first = await machine.stageSnapshot(from.snapshot)
  first.abort('lost')
  const [second, third] = await Promise.all([
    machine.stageSnapshot(from.snapshot),
    machine.stageSnapshot({ ...from.snapshot, index: logIndex(299) }),
  ])
  third.abort('lost')
  second.abort('lost')
  await receive(machine, from)
  await machine.installSnapshot(from.snapshot)
  assert.equal(machine.digest, digests[300])
  assert.deepEqual(await databases.list(), ['db-300'])
  await machine.close()
})

void test('two concurrent stagings leave one staged database, that of the later', async () => {
  const from = await snapshotAt(300)
  const databases = new MemoryKeyValueDatabases()
  const machine = await openMachine({ databases, clock: new ManualClock() })
  await Promise.all([
    machine.stageSnapshot({ ...from.snapshot, index: logIndex(299) }),
    machine.stageSnapshot(from.snapshot),
  ])
  assert.deepEqual([...(await databases.list())].sort(), ['db-0', 'db-300'])
  await machine.close()
})

void test('the database never has what the log may still lose', async () => {
  const clock = new ManualClock()
  const machine = await openMachine({ databases: new MemoryKeyValueDatabases(), clock })
  machine.apply(log.entries.slice(0, 100), 1)
  await clock.advance(10_000)
  assert.deepEqual([machine.appliedMemory, machine.appliedDisk.index], [100, 0])
  machine.logPersisted(logIndex(99))
  await clock.advance(10_000)
  assert.ok(machine.appliedDisk.index < 100)
  machine.logPersisted(logIndex(100))
  await clock.advance(10_000)
  assert.equal(machine.appliedDisk.index, 100)
  await machine.close()
})

void test('a snapshot that is not newer is refused without effect', async () => {
  const from = await snapshotAt(300)
  const machine = await openMachine({ databases: new MemoryKeyValueDatabases(), clock: new ManualClock() })
  await receive(machine, from)
  await machine.installSnapshot(from.snapshot)
  await assert.rejects(machine.stageSnapshot(from.snapshot), { code: 'stale' })
  applyUpTo(machine, log, 400)
  assert.equal(machine.digest, digests[400])
  await machine.close()
})

void test('waiting watches continue after an installed snapshot, and miss nothing', async () => {
  const clock = new ManualClock()
  const machine = await openMachine({ databases: new MemoryKeyValueDatabases(), clock })
  // Histories are short here, so the watch's position must be within the snapshot's window.
  applyUpTo(machine, log, 290)
  const consensus = new LocalConsensus({ machine, clock })
  const store = new Store({ consensus, machine, clock, limits: tinyLimits })
  const cursor = store.watch(allConfigMaps, machine.state.revision)
  const after = machine.state.revision
  let rings = 0
  cursor.onMore(() => rings++)
  const from = await snapshotAt(300)
  await receive(machine, from)
  await machine.installSnapshot(from.snapshot)
  await clock.settle()
  assert.equal(rings, 1)
  const reported = [...(await cursor.next(1000))].map((event) => event.revision)
  const reference = await openMachine({ databases: new MemoryKeyValueDatabases(), clock })
  applyUpTo(reference, log, 300)
  const expected: number[] = []
  for (let at = after + 1; at <= reference.state.revision; at++) {
    if (reference.state.history.note(revision(at)).key.startsWith(allConfigMaps)) expected.push(at)
  }
  assert.deepEqual(reported, expected)
  assert.ok(reported.length > 0)
  store.close()
  await machine.close()
  await reference.close()
})

void test('a watch whose position is not in the history of an installed snapshot is woken and fails', async () => {
  const clock = new ManualClock()
  const machine = await openMachine({ databases: new MemoryKeyValueDatabases(), clock })
  applyUpTo(machine, log, 30)
  const consensus = new LocalConsensus({ machine, clock })
  const store = new Store({ consensus, machine, clock, limits: tinyLimits })
  const cursor = store.watch(allConfigMaps, machine.state.revision)
  let rings = 0
  cursor.onMore(() => rings++)
  const from = await snapshotAt(300)
  await receive(machine, from)
  await machine.installSnapshot(from.snapshot)
  await clock.settle()
  assert.equal(rings, 1)
  assert.throws(() => cursor.next(1000), { code: 'compacted' })
  store.close()
  await machine.close()
})

void test('reads of a past revision during the installation of a snapshot return the state at that revision', async () => {
  const clock = new ManualClock()
  let release: () => void = () => undefined
  let held: Promise<void> | null = null
  const databases = databasesWith((store) => ({
    getMany: async (keys) => {
      await held
      return store.getMany(keys)
    },
  }))
  const machine = await openMachine({ databases, clock })
  applyUpTo(machine, log, 290)
  await clock.advance(1000)
  const consensus = new LocalConsensus({ machine, clock })
  const store = new Store({ consensus, machine, clock, limits: tinyLimits })
  const requested = revision(machine.state.revision - 18)
  const before = store.viewAt(requested).list(allConfigMaps, { after: null, limit: null })
  await clock.settle()
  const expected = await before
  const one = await store.viewAt(requested).get(configMapKey('c1', 'a'))
  const from = await snapshotAt(292)
  await receive(machine, from)
  held = new Promise((resolve) => {
    release = resolve
  })
  const reading = store.viewAt(requested).list(allConfigMaps, { after: null, limit: null })
  const getting = store.viewAt(requested).get(configMapKey('c1', 'a'))
  await clock.settle()
  const installing = machine.installSnapshot(from.snapshot)
  await clock.settle()
  held = null
  release()
  await installing
  await clock.settle()
  assert.deepEqual(
    (await reading).objects.map((object) => object.revision),
    expected.objects.map((object) => object.revision),
  )
  assert.equal((await getting)?.revision, one?.revision)
  store.close()
  await machine.close()
})
