/*
 * Goal: a start loads exactly what was written, or nothing.
 * Method: random logs written, closed, opened; every stored value damaged or removed in turn.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../../base/random.ts'
import { logIndex, noSnapshot } from '../../../../../raft/index.ts'
import type {
  KeyValueChange,
  KeyValueDatabases,
  KeyValuePair,
} from '../../../../../src/store/disk/key-value-store.ts'
import { MemoryKeyValueDatabases } from '../../../../../src/store/disk/memory-key-value-store.ts'
import { headKey } from '../../../../../src/store/disk/machine-keys.ts'
import { defaultStoreLimits } from '../../../../../src/store/store-limits.ts'
import { ManualClock } from '../../../../support/fakes/manual-clock.ts'
import {
  applyUpTo,
  digestsOf,
  openMachine,
  pairsOf,
  randomLog,
} from '../../../../support/fixtures/store-machines.ts'

void test('a reopened machine has the digest from before its close, and applies later entries identically', async () => {
  const log = randomLog(1, 600)
  const digests = digestsOf(log)
  const random = new SeededRandom(2)
  const databases = new MemoryKeyValueDatabases()
  const clock = new ManualClock()
  for (let at = 0; at < 600;) {
    const machine = await openMachine({ databases, clock })
    assert.equal(machine.appliedDisk.index, at)
    assert.equal(machine.appliedMemory, at)
    assert.equal(machine.digest, digests[at])
    at = Math.min(600, at + 1 + random.below(120))
    applyUpTo(machine, log, at)
    assert.equal(machine.digest, digests[at])
    await machine.close()
  }
})

void test('the database never gets ahead of the log on disk', async () => {
  const log = randomLog(3, 200)
  const databases = new MemoryKeyValueDatabases()
  const clock = new ManualClock()
  const machine = await openMachine({ databases, clock })
  machine.apply(log.entries.slice(0, 100), 1)
  await clock.advance(1000)
  assert.equal(machine.appliedDisk.index, 0)
  machine.logPersisted(logIndex(60))
  await clock.advance(1000)
  assert.ok(machine.appliedDisk.index <= 60)
  machine.logPersisted(logIndex(100))
  await clock.advance(1000)
  assert.equal(machine.appliedDisk.index, 100)
  machine.apply(log.entries.slice(100), 1)
  await machine.close()
  const again = await openMachine({ databases, clock })
  assert.equal(again.appliedDisk.index, 100)
  assert.equal(again.digest, digestsOf(log)[100])
  await again.close()
})

void test('a full backlog stops apply until the disk has caught up', async () => {
  const log = randomLog(4, 400)
  const clock = new ManualClock()
  const machine = await openMachine({ databases: new MemoryKeyValueDatabases(), clock })
  let woken = 0
  machine.onCapacity(() => woken++)
  for (const entry of log.entries) {
    if (machine.capacity > 0) machine.apply([entry], 1)
  }
  assert.ok(machine.capacity <= 0)
  const stoppedAt = machine.appliedMemory
  assert.ok(stoppedAt < 400)
  await clock.advance(1000)
  assert.equal(woken, 0)
  machine.logPersisted(stoppedAt)
  await clock.advance(1000)
  assert.ok(woken >= 1)
  assert.equal(machine.appliedDisk.index, stoppedAt)
  assert.equal(machine.capacity, 20_000)
  await machine.close()
  assert.equal(clock.pending, 0)
})

void test('entries applied in one turn are one batch, and a turn without changes writes no batch', async () => {
  const log = randomLog(10, 40)
  const memory = new MemoryKeyValueDatabases()
  let batches = 0
  const databases: KeyValueDatabases = {
    list: () => memory.list(),
    destroy: (name) => memory.destroy(name),
    markQuarantined: (name, reason) => memory.markQuarantined(name, reason),
    quarantineMarks: () => memory.quarantineMarks(),
    quarantine: (name) => memory.quarantine(name),
    discardQuarantined: () => memory.discardQuarantined(),
    open: async (name) => {
      const store = await memory.open(name)
      return {
        getMany: (keys) => store.getMany(keys),
        snapshot: () => store.snapshot(),
        compact: () => store.compact(),
        close: () => store.close(),
        write: (changes) => {
          batches++
          return store.write(changes)
        },
      }
    },
  }
  const clock = new ManualClock()
  const machine = await openMachine({ databases, clock, limits: defaultStoreLimits })
  applyUpTo(machine, log, 20)
  await clock.advance(1000)
  assert.equal(batches, 1)
  machine.apply([], 1)
  machine.logPersisted(logIndex(40))
  await clock.advance(1000)
  assert.equal(batches, 1)
  applyUpTo(machine, log, 40)
  await machine.close()
  assert.equal(batches, 2)
})

async function written(seed: number): Promise<readonly KeyValuePair[]> {
  const databases = new MemoryKeyValueDatabases()
  const machine = await openMachine({ databases, clock: new ManualClock() })
  applyUpTo(machine, randomLog(seed, 150), 150)
  await machine.close()
  return pairsOf(databases, 'db-0')
}

/** Returns why the machine begins in quarantine; null: it does not. */
async function damageIn(pairs: readonly KeyValuePair[]): Promise<string | null> {
  const databases = new MemoryKeyValueDatabases()
  const store = await databases.open('db-0')
  await store.write(pairs.map(([key, value]): KeyValueChange => ({ kind: 'put', key, value })))
  await store.close()
  const logBase = { ...noSnapshot, index: logIndex(100) }
  const machine = await openMachine({ databases, clock: new ManualClock(), logBase })
  const { quarantine } = machine
  if (quarantine !== null) {
    assert.equal(machine.wanted, 100)
    assert.throws(() => machine.state, { name: 'StoreError', code: 'quarantined' })
    assert.deepEqual(await databases.list(), [], 'it is never read again')
  }
  await machine.close()
  return quarantine?.reason ?? null
}

void test('a flipped bit in any stored value is found at the start', async () => {
  const random = new SeededRandom(5)
  const pairs = await written(6)
  assert.equal(await damageIn(pairs), null)
  for (const [at, [key, value]] of pairs.entries()) {
    const damaged = Uint8Array.from(value)
    const place = random.below(value.byteLength)
    damaged[place] = (damaged[place] ?? 0) ^ (1 << random.below(8))
    assert.ok(await damageIn(pairs.with(at, [key, damaged])), `value ${at}, byte ${place}`)
  }
})

void test('a missing value is found at the start', async () => {
  const pairs = await written(7)
  for (const at of pairs.keys()) {
    assert.ok(await damageIn(pairs.toSpliced(at, 1)), `value ${at}`)
  }
})

void test('an older value in the place of a newer one is found at the start', async () => {
  const [older, newer] = [new MemoryKeyValueDatabases(), new MemoryKeyValueDatabases()]
  const log = randomLog(8, 150)
  for (const [databases, to] of [
    [older, 120],
    [newer, 150],
  ] as const) {
    const machine = await openMachine({ databases, clock: new ManualClock() })
    applyUpTo(machine, log, to)
    await machine.close()
  }
  const before = new Map((await pairsOf(older, 'db-0')).map(([key, value]) => [String(key), value]))
  const pairs = await pairsOf(newer, 'db-0')
  let tried = 0
  for (const [at, [key, value]] of pairs.entries()) {
    const stale = before.get(String(key))
    if (stale === undefined || Buffer.compare(stale, value) === 0) continue
    tried++
    assert.ok(await damageIn(pairs.with(at, [key, stale])), `value ${at}`)
  }
  assert.ok(tried >= 2, 'the head and sessions changed in between')
})

void test('a database beyond the end of the log is refused, one behind its beginning is quarantined', async () => {
  const databases = new MemoryKeyValueDatabases()
  const clock = new ManualClock()
  const machine = await openMachine({ databases, clock })
  applyUpTo(machine, randomLog(9, 50), 50)
  await machine.close()
  await assert.rejects(openMachine({ databases, clock, logLast: 49 }), { code: 'beyond-log' })
  const fits = await openMachine({
    databases,
    clock,
    logLast: 50,
    logBase: { ...noSnapshot, index: logIndex(50) },
  })
  assert.equal(fits.quarantine, null)
  await fits.close()
  const behind = await openMachine({ databases, clock, logBase: { ...noSnapshot, index: logIndex(51) } })
  assert.match(behind.quarantine?.reason ?? '', /at index 50, the log begins after 51/)
  assert.deepEqual(
    [behind.appliedMemory, behind.appliedDisk.index, behind.wanted, behind.capacity],
    [51, 51, 51, 0],
  )
  await behind.close()
})

void test('a log that has its first entry rebuilds a damaged database', async () => {
  const databases = new MemoryKeyValueDatabases()
  const clock = new ManualClock()
  const log = randomLog(9, 50)
  const first = await openMachine({ databases, clock })
  applyUpTo(first, log, 50)
  const { digest } = first
  await first.close()
  const store = await databases.open('db-0')
  await store.write([{ kind: 'put', key: headKey, value: Uint8Array.of(1, 2, 3) }])
  await store.close()
  const again = await openMachine({ databases, clock })
  assert.deepEqual([again.quarantine, again.appliedMemory], [null, 0])
  applyUpTo(again, log, 50)
  assert.equal(again.digest, digest)
  await again.close()
})
