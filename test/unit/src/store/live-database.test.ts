/*
 * Goal: of several databases a start opens the live one, whatever a crash left behind.
 * Method: databases written under chosen names, then opened with a log compacted at a chosen index.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logIndex, noSnapshot } from '../../../../raft/index.ts'
import { MemoryKeyValueDatabases } from '../../../../src/store/disk/memory-key-value-store.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'
import {
  applyUpTo,
  chunksOf,
  digestsOf,
  openMachine,
  pairsOf,
  randomLog,
} from '../../../support/fixtures/store-machines.ts'

const log = randomLog(31, 300)
const digests = digestsOf(log)

/** Creates databases with the state at an index, under the given names. */
async function databasesOf(indexes: Readonly<Record<string, number>>): Promise<MemoryKeyValueDatabases> {
  const databases = new MemoryKeyValueDatabases()
  for (const [name, index] of Object.entries(indexes)) {
    const source = new MemoryKeyValueDatabases()
    const machine = await openMachine({ databases: source, clock: new ManualClock() })
    applyUpTo(machine, log, index)
    await machine.close()
    const [from] = await source.list()
    const pairs = await pairsOf(source, from ?? '')
    const store = await databases.open(name)
    await store.write(pairs.map(([key, value]) => ({ kind: 'put', key, value })))
    await store.close()
  }
  return databases
}

const cases = [
  {
    title: 'not a staged one that the log has overtaken',
    found: { 'db-0': 300, 'db-200': 200 },
    at: 300,
  },
  {
    title: 'an installed one, not its predecessor, which was not removed yet',
    found: { 'db-0': 180, 'db-200': 200 },
    at: 200,
  },
  { title: 'not one whose log record never became durable', found: { 'db-0': 240, 'db-290': 290 }, at: 240 },
] as const

for (const { title, found, at } of cases) {
  void test(`a start finds the live database: ${title}`, async () => {
    const databases = await databasesOf(found)
    const base = { ...noSnapshot, index: logIndex(at === 300 ? 250 : 200) }
    const machine = await openMachine({ databases, clock: new ManualClock(), logBase: base })
    assert.equal(machine.appliedMemory, at)
    assert.equal(machine.digest, digests[at])
    assert.equal((await databases.list()).length, 1, 'and removes the other')
    await machine.close()
  })
}

for (const named of [true, false]) {
  const outcome = named
    ? 'is opened if the log begins after its snapshot'
    : 'is removed if the log does not begin after its snapshot'
  void test(`a database that was staged when a member stopped ${outcome}`, async () => {
    const sender = await openMachine({
      databases: await databasesOf({ 'db-0': 200 }),
      clock: new ManualClock(),
    })
    const source = await sender.produceSnapshot()
    const databases = await databasesOf({ 'db-0': 100 })
    const stopping = await openMachine({ databases, clock: new ManualClock() })
    const sink = await stopping.stageSnapshot(source.snapshot)
    for (const chunk of await chunksOf(source)) await sink.chunk(chunk)
    await sink.finish()
    await stopping.close()
    const logBase = named ? source.snapshot : { ...noSnapshot, index: logIndex(90) }
    const machine = await openMachine({ databases, clock: new ManualClock(), logBase })
    const expected = named ? 200 : 100
    assert.equal(machine.digest, digests[expected])
    assert.equal((await databases.list()).length, 1)
    await machine.close()
    await sender.close()
  })
}
