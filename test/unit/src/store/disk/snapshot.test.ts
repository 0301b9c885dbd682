/*
 * Goal: a snapshot transfers the whole state to another member, and damage is never installed.
 * Method: snapshots of one machine are sent to another in chunks of any size, intact and damaged.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { SeededRandom } from '../../../../../base/random.ts'
import { logIndex, term } from '../../../../../raft/index.ts'
import type { SnapshotMeta } from '../../../../../raft/index.ts'
import type { KeyValueChange, KeyValueStore } from '../../../../../src/store/disk/key-value-store.ts'
import { MemoryKeyValueDatabases } from '../../../../../src/store/disk/memory-key-value-store.ts'
import { DatabaseError } from '../../../../../src/store/store-errors.ts'
import type { StoreMachine } from '../../../../../src/store/store-machine.ts'
import { ManualClock } from '../../../../support/fakes/manual-clock.ts'
import {
  applyUpTo,
  chunksOf,
  digestsOf,
  openMachine,
  pairsOf,
  randomLog,
} from '../../../../support/fixtures/store-machines.ts'

const log = randomLog(21, 500)
const digests = digestsOf(log)

async function sender(upTo: number): Promise<{ machine: StoreMachine; clock: ManualClock }> {
  const clock = new ManualClock()
  const machine = await openMachine({ databases: new MemoryKeyValueDatabases(), clock })
  applyUpTo(machine, log, upTo)
  await clock.advance(1000)
  return { machine, clock }
}

async function snapshotAt(upTo: number): Promise<{ snapshot: SnapshotMeta; chunks: Uint8Array[] }> {
  const { machine } = await sender(upTo)
  const source = await machine.produceSnapshot()
  const chunks = await chunksOf(source)
  await machine.close()
  return { snapshot: source.snapshot, chunks }
}

void test('a receiver has the digest of the sender, and the same digests after later entries', async () => {
  const { snapshot, chunks } = await snapshotAt(300)
  assert.equal(snapshot.index, 300)
  assert.ok(chunks.length > 5)
  const databases = new MemoryKeyValueDatabases()
  const clock = new ManualClock()
  const receiver = await openMachine({ databases, clock })
  applyUpTo(receiver, log, 20)
  let applied = 0
  receiver.onApplied(() => applied++)
  const sink = await receiver.stageSnapshot(snapshot)
  for (const chunk of chunks) await sink.chunk(chunk)
  await sink.finish()
  assert.equal(receiver.appliedMemory, 20)
  await receiver.installSnapshot(snapshot)
  assert.equal(applied, 1)
  assert.equal(receiver.appliedMemory, 300)
  assert.equal(receiver.appliedDisk.index, 300)
  assert.equal(receiver.digest, digests[300])
  assert.deepEqual(await databases.list(), ['db-300'])
  applyUpTo(receiver, log, 500)
  assert.equal(receiver.digest, digests[500])
  await receiver.close()
  const again = await openMachine({ databases, clock, logBase: snapshot })
  assert.equal(again.digest, digests[500])
  await again.close()
})

void test('concurrent writes do not change a snapshot stream', async () => {
  const { machine, clock } = await sender(200)
  const source = await machine.produceSnapshot()
  const first = await source.next()
  applyUpTo(machine, log, 500)
  await clock.advance(1000)
  const rest = await chunksOf(source)
  await machine.close()
  const receiver = await openMachine({ databases: new MemoryKeyValueDatabases(), clock: new ManualClock() })
  const sink = await receiver.stageSnapshot(source.snapshot)
  for (const chunk of [first ?? assert.fail(), ...rest]) await sink.chunk(chunk)
  await sink.finish()
  await receiver.installSnapshot(source.snapshot)
  assert.equal(receiver.digest, digests[200])
  await receiver.close()
})

void test('a stream can be split into chunks anywhere', async () => {
  const { snapshot, chunks } = await snapshotAt(120)
  const random = new SeededRandom(3)
  const all = Buffer.concat(chunks)
  const receiver = await openMachine({ databases: new MemoryKeyValueDatabases(), clock: new ManualClock() })
  const sink = await receiver.stageSnapshot(snapshot)
  for (let at = 0; at < all.length;) {
    const end = at + 1 + random.below(500)
    await sink.chunk(all.subarray(at, end))
    at = end
  }
  await sink.finish()
  await receiver.installSnapshot(snapshot)
  assert.equal(receiver.digest, digests[120])
  await receiver.close()
})

async function refuses(snapshot: SnapshotMeta, chunks: readonly Uint8Array[], what: string): Promise<void> {
  const databases = new MemoryKeyValueDatabases()
  const receiver = await openMachine({ databases, clock: new ManualClock() })
  const sink = await receiver.stageSnapshot(snapshot)
  const receive = async (): Promise<void> => {
    for (const chunk of chunks) await sink.chunk(chunk)
    await sink.finish()
  }
  await assert.rejects(receive(), DatabaseError, what)
  sink.abort(what)
  assert.equal(receiver.appliedMemory, 0)
  await receiver.close()
  assert.deepEqual(await databases.list(), ['db-0'])
}

void test('a stream that is damaged, incomplete or of another index or term is refused, and leaves no database', async () => {
  const { snapshot, chunks } = await snapshotAt(150)
  const random = new SeededRandom(4)
  for (const [at, chunk] of chunks.entries()) {
    const damaged = Uint8Array.from(chunk)
    const place = random.below(chunk.byteLength)
    damaged[place] = (damaged[place] ?? 0) ^ (1 << random.below(8))
    await refuses(snapshot, chunks.with(at, damaged), `bit of chunk ${at} flipped at ${place}`)
    await refuses(snapshot, chunks.toSpliced(at, 1), `chunk ${at} lost`)
    await refuses(snapshot, chunks.toSpliced(at, 0, chunk), `chunk ${at} twice`)
  }
  await refuses({ ...snapshot, index: logIndex(149) }, chunks, 'another index')
  await refuses({ ...snapshot, term: term(9999) }, chunks, 'another term')
})

void test('a staged snapshot that was never installed is removed by a restart', async () => {
  const { snapshot, chunks } = await snapshotAt(150)
  const databases = new MemoryKeyValueDatabases()
  const clock = new ManualClock()
  const receiver = await openMachine({ databases, clock })
  applyUpTo(receiver, log, 10)
  const sink = await receiver.stageSnapshot(snapshot)
  for (const chunk of chunks) await sink.chunk(chunk)
  await sink.finish()
  await receiver.close()
  const again = await openMachine({ databases, clock })
  assert.equal(again.digest, digests[10])
  assert.deepEqual(await databases.list(), ['db-0'])
  await again.close()
})

void test('after a crash between the log record and the installation, the record decides', async () => {
  const { snapshot, chunks } = await snapshotAt(150)
  const databases = new MemoryKeyValueDatabases()
  const stage = await databases.open('db-150')
  await stage.close()
  const receiver = await openMachine({ databases, clock: new ManualClock() })
  const sink = await receiver.stageSnapshot(snapshot)
  for (const chunk of chunks) await sink.chunk(chunk)
  await sink.finish()
  // The process crashes: the next one finds the disk, with the log's base at the snapshot.
  const survivor = databases.clone()
  const again = await openMachine({ databases: survivor, clock: new ManualClock(), logBase: snapshot })
  assert.equal(again.digest, digests[150])
  assert.deepEqual(await survivor.list(), ['db-150'])
  await again.close()
  await receiver.close()
})

void test('a staged snapshot overtaken by the log is discarded, and never becomes the state', async () => {
  const { snapshot, chunks } = await snapshotAt(150)
  const databases = new MemoryKeyValueDatabases()
  const clock = new ManualClock()
  const receiver = await openMachine({ databases, clock })
  const sink = await receiver.stageSnapshot(snapshot)
  for (const chunk of chunks) await sink.chunk(chunk)
  await sink.finish()
  const before = databases.clone()
  applyUpTo(receiver, log, 300)
  await receiver.close()
  assert.deepEqual(await databases.list(), ['db-0'])
  // As if the process had crashed before it discarded the snapshot, and its log was compacted at
  // 200 afterwards.
  await replaceFirst(before, databases)
  const again = await openMachine({
    databases: before,
    clock,
    logBase: { ...snapshot, index: logIndex(200) },
  })
  assert.equal(again.digest, digests[300])
  assert.deepEqual(await before.list(), ['db-0'])
  await again.close()
})

/** Replaces `db-0` of one set of databases by that of another. */
async function replaceFirst(target: MemoryKeyValueDatabases, source: MemoryKeyValueDatabases): Promise<void> {
  await target.destroy('db-0')
  const store = await target.open('db-0')
  await store.write((await pairsOf(source, 'db-0')).map(([key, value]) => ({ kind: 'put', key, value })))
  await store.close()
}

void test('a second staging replaces the first', async () => {
  const { snapshot, chunks } = await snapshotAt(150)
  const databases = new MemoryKeyValueDatabases()
  const receiver = await openMachine({ databases, clock: new ManualClock() })
  const first = await receiver.stageSnapshot({ ...snapshot, index: logIndex(140) })
  const [head] = chunks
  await first.chunk(head ?? assert.fail())
  const second = await receiver.stageSnapshot(snapshot)
  await assert.rejects(first.finish(), DatabaseError)
  for (const chunk of chunks) await second.chunk(chunk)
  await second.finish()
  await receiver.installSnapshot(snapshot)
  assert.equal(receiver.digest, digests[150])
  await receiver.close()
})

void test('a member with nothing on disk has no snapshot to send, and continues', async () => {
  const failures: unknown[] = []
  const onFailure = (cause: unknown): void => void failures.push(cause)
  const machine = await openMachine({
    databases: new MemoryKeyValueDatabases(),
    clock: new ManualClock(),
    onFailure,
  })
  await assert.rejects(machine.produceSnapshot(), DatabaseError)
  assert.deepEqual(failures, [])
  applyUpTo(machine, log, 20)
  assert.equal(machine.digest, digests[20])
  await machine.close()
})

/** Databases whose writes take a turn, and fail while `isFull` is set. */
class FullDisk extends MemoryKeyValueDatabases {
  isFull = false

  override async open(name: string): Promise<KeyValueStore> {
    const store = await super.open(name)
    const write = async (changes: readonly KeyValueChange[]): Promise<void> => {
      await setImmediate()
      if (this.isFull) throw new DatabaseError('io', 'no space')
      await store.write(changes)
    }
    return {
      getMany: (keys) => store.getMany(keys),
      write,
      snapshot: () => store.snapshot(),
      compact: () => store.compact(),
      close: () => store.close(),
    }
  }
}

void test('a chunk that cannot be written is refused, before all chunks are accepted', async () => {
  const { snapshot, chunks } = await snapshotAt(300)
  const databases = new FullDisk()
  const receiver = await openMachine({ databases, clock: new ManualClock() })
  const sink = await receiver.stageSnapshot(snapshot)
  databases.isFull = true
  let taken = 0
  const receive = async (): Promise<void> => {
    for (const chunk of chunks) {
      await sink.chunk(chunk)
      taken++
    }
  }
  await assert.rejects(receive(), { code: 'io', message: 'no space' })
  assert.ok(taken < chunks.length)
  sink.abort('no space')
  databases.isFull = false
  await receiver.close()
})
