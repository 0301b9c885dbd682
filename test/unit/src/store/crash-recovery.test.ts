/*
 * Goal: whenever the power fails, the database is the state at some index that the log still has,
 * and replaying the log leads to the same state as without the crash.
 * Method: a random log applied over the simulator's databases with slow writes, and crashes at
 * random moments; also while a snapshot is received and installed.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { logIndex, noSnapshot } from '../../../../raft/index.ts'
import type { SnapshotMeta } from '../../../../raft/index.ts'
import type { StoreMachine } from '../../../../src/store/store-machine.ts'
import { SimClock } from '../../../simulation/clock.ts'
import { SimKeyValueDisk } from '../../../simulation/kv.ts'
import { World } from '../../../simulation/world.ts'
import type { Owner } from '../../../simulation/world.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'
import { MemoryKeyValueDatabases } from '../../../../src/store/disk/memory-key-value-store.ts'
import {
  applyUpTo,
  chunksOf,
  digestsOf,
  openMachine,
  randomLog,
} from '../../../support/fixtures/store-machines.ts'

const length = 300
const log = randomLog(31, length)
const digests = digestsOf(log)

/** One process: applies for a while, then crashes. */
async function life(
  world: World,
  disk: SimKeyValueDisk,
  logBase: SnapshotMeta,
  random: SeededRandom,
): Promise<Life> {
  const owner: Owner = { name: 'n1', alive: true, pausedUntil: 0, caught: null, waiting: [] }
  const clock = new SimClock(world, owner, 'api')
  const opening = openMachine({ databases: disk.mount(owner), clock, logBase })
  opening.catch((cause: unknown) => world.fail(cause))
  let machine: StoreMachine | null = null
  void opening.then((opened) => {
    machine = opened
  })
  await world.runUntil(world.now + 10_000, () => machine !== null)
  const opened = await opening
  const found = opened.appliedDisk.index
  assert.equal(opened.digest, digests[found], `digest at index ${found}`)
  const step = (): void => {
    const to = Math.min(length, opened.appliedMemory + 1 + random.below(20))
    for (const entry of log.after(opened.appliedMemory)) if (entry.index <= to) opened.apply([entry], 7)
    // The log's own disk may lag behind what the cluster committed.
    opened.logPersisted(logIndex(Math.max(0, to - random.below(15))))
    clock.after(random.below(30), step)
  }
  clock.after(0, step)
  await world.runUntil(world.now + random.below(400))
  assert.equal(opened.digest, digests[opened.appliedMemory])
  const onDisk = opened.appliedDisk
  owner.alive = false
  disk.crash()
  return { found, onDisk }
}

type Life = { readonly found: number; readonly onDisk: SnapshotMeta }

for (let seed = 1; seed <= 30; seed++) {
  void test(`seed ${seed}: every restart finds a state from which the log can continue`, async () => {
    const world = new World({ seed, trace: null })
    const random = new SeededRandom(1000 + seed)
    const disk = new SimKeyValueDisk(world, { writeMsMax: 60, readMsMax: 3 })
    let reported = 0
    for (let times = 0; times < 12; times++) {
      const { found, onDisk } = await life(world, disk, noSnapshot, random)
      assert.ok(found >= reported, `what was durable at ${reported} is there, found ${found}`)
      reported = onDisk.index
    }
    assert.ok(reported > 0)
  })
}

void test('a crash at any moment of receiving a snapshot leaves the old state or the new one', async () => {
  const sender = await openMachine({ databases: new MemoryKeyValueDatabases(), clock: new ManualClock() })
  applyUpTo(sender, log, 200)
  await sender.flushed()
  const source = await sender.produceSnapshot()
  const chunks = await chunksOf(source)
  const { snapshot } = source
  await sender.close()
  const ends = new Set<number>()
  for (let seed = 1; seed <= 40; seed++) {
    const world = new World({ seed, trace: null })
    const random = new SeededRandom(seed)
    const disk = new SimKeyValueDisk(world, { writeMsMax: 5, readMsMax: 1 })
    const owner: Owner = { name: 'n1', alive: true, pausedUntil: 0, caught: null, waiting: [] }
    let logBase: SnapshotMeta = noSnapshot
    const receive = async (): Promise<void> => {
      const machine = await openMachine({
        databases: disk.mount(owner),
        clock: new SimClock(world, owner, 'api'),
      })
      const sink = await machine.stageSnapshot(snapshot)
      for (const chunk of chunks) await sink.chunk(chunk)
      await sink.finish()
      logBase = snapshot
      await machine.installSnapshot(snapshot)
    }
    void receive()
    await world.runUntil(world.now + random.below(140))
    owner.alive = false
    disk.crash()
    const after = await life(world, disk, logBase, random)
    assert.equal(after.found, logBase.index === 0 ? 0 : 200)
    ends.add(after.found)
  }
  assert.deepEqual([...ends].sort(), [0, 200])
})
