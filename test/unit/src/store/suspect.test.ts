/*
 * Goal: a state that other members contradict is not served by any read, write or snapshot, even
 * after restarts. It is kept and follows the log, until it is trusted again or an operator replaces
 * it.
 * Method: machines in memory that apply one log; restarts from the previous disk.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logIndex, noSnapshot } from '../../../../raft/index.ts'
import { MemoryKeyValueDatabases } from '../../../../src/store/disk/memory-key-value-store.ts'
import type { StoreMachine } from '../../../../src/store/store-machine.ts'
import { Store } from '../../../../src/store/store.ts'
import { LocalConsensus } from '../../../../fixtures/local-consensus.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'
import {
  applyUpTo,
  chunksOf,
  digestsOf,
  openMachine,
  randomLog,
  tinyLimits,
} from '../../../support/fixtures/store-machines.ts'

const log = randomLog(53, 300)
const digests = digestsOf(log)
const refused = { name: 'StoreError', code: 'quarantined' } as const

async function stageInto(machine: StoreMachine, index: number) {
  const donor = await openMachine({ databases: new MemoryKeyValueDatabases(), clock: new ManualClock() })
  applyUpTo(donor, log, index)
  const source = await donor.produceSnapshot(logIndex(index))
  const chunks = await chunksOf(source)
  await donor.close()
  const sink = await machine.stageSnapshot(source.snapshot)
  for (const chunk of chunks) await sink.chunk(chunk)
  await sink.finish()
  return source.snapshot
}

void test('a suspect state is not served, follows the log, and reports its digests', async () => {
  const [databases, clock] = [new MemoryKeyValueDatabases(), new ManualClock()]
  const machine = await openMachine({ databases, clock })
  applyUpTo(machine, log, 200)
  const consensus = new LocalConsensus({ machine, clock })
  const store = new Store({ consensus, machine, clock, limits: tinyLimits })
  let news = 0
  machine.onApplied(() => news++)
  machine.suspect('outvoted', 'n2, n3 differ')
  assert.throws(() => machine.state, refused)
  assert.throws(() => store.view(), refused)
  assert.equal(store.identity, null)
  await assert.rejects(store.barrier(1000), refused)
  await assert.rejects(store.write({ kind: 'write', operations: [] }, 1000), refused)
  await assert.rejects(machine.produceSnapshot(), refused)
  assert.equal(machine.database, null, 'nothing to scrub')
  applyUpTo(machine, log, 250)
  await clock.advance(1000)
  assert.deepEqual([machine.appliedMemory, machine.appliedDisk.index, machine.wanted], [250, 250, null])
  machine.sampleNow()
  assert.equal(machine.samples.at(-1)?.digest, digests[250])
  assert.equal(news, 0, 'listeners are not called, as they would read the state')
  machine.trust()
  assert.deepEqual([machine.quarantine, machine.digest, news], [null, digests[250], 1])
  await (await machine.produceSnapshot(logIndex(250))).close()
  store.close()
  await machine.close()
})

void test('a command that a suspect state applied has no outcome for its proposer', async () => {
  const [databases, clock] = [new MemoryKeyValueDatabases(), new ManualClock()]
  const machine = await openMachine({ databases, clock })
  const consensus = new LocalConsensus({ machine, clock })
  const propose = consensus.propose.bind(consensus)
  consensus.propose = async (payload: Uint8Array) => {
    const result = await propose(payload)
    assert.equal(result.kind, 'applied')
    machine.suspect('undecided', 'n2 differs')
    return result
  }
  const store = new Store({ consensus, machine, clock, limits: tinyLimits })
  const written = store.write({ kind: 'write', operations: [] }, 1000)
  await assert.rejects(written, { code: 'timed-out', applied: 'unknown' })
  store.close()
  await machine.close()
})

void test('a suspect state stays suspect across restarts, until it is trusted', async () => {
  const [databases, clock] = [new MemoryKeyValueDatabases(), new ManualClock()]
  const first = await openMachine({ databases, clock })
  applyUpTo(first, log, 200)
  await first.flushed()
  first.suspect('undecided', 'n2 differs')
  first.suspect('outvoted', 'n2, n3 differ')
  first.suspect('outvoted', 'the same once more')
  assert.equal(first.quarantines.disagreement, 2)
  const expected = { cause: 'disagreement', disagreement: 'outvoted', reason: 'n2, n3 differ' }
  assert.deepEqual(first.quarantine, expected)
  await first.close()
  const second = await openMachine({ databases, clock })
  assert.deepEqual(second.quarantine, expected)
  assert.throws(() => second.state, refused)
  applyUpTo(second, log, 220)
  second.trust()
  await second.close()
  const third = await openMachine({ databases, clock })
  assert.deepEqual([third.quarantine, third.digest], [null, digests[220]])
  await third.close()
})

void test('a suspect state is not replaced by a leader that considers its member lagging', async () => {
  const [databases, clock] = [new MemoryKeyValueDatabases(), new ManualClock()]
  const machine = await openMachine({ databases, clock })
  applyUpTo(machine, log, 100)
  machine.suspect('outvoted', 'n2, n3 differ')
  await assert.rejects(stageInto(machine, 200), { code: 'suspect', message: /orchctl member repair/ })
  assert.equal(machine.appliedMemory, 100)
  await machine.close()
})

void test('an operator can replace a suspect state, and damage found in it starts a repair', async () => {
  for (const how of ['repair', 'enterQuarantine'] as const) {
    const [databases, clock] = [new MemoryKeyValueDatabases(), new ManualClock()]
    const machine = await openMachine({ databases, clock })
    applyUpTo(machine, log, 100)
    await machine.flushed()
    machine.suspect('outvoted', 'n2, n3 differ')
    machine[how]('test')
    assert.deepEqual([machine.wanted, machine.samples.length], [100, 0])
    machine.suspect('outvoted', 'there is nothing left to suspect')
    machine.trust()
    assert.equal(machine.quarantine?.cause, how === 'repair' ? 'operator' : 'damaged')
    await clock.settle()
    assert.deepEqual(await databases.list(), [])
    const snapshot = await stageInto(machine, 200)
    await machine.installSnapshot(snapshot)
    assert.deepEqual([machine.quarantine, machine.digest], [null, digests[200]])
    await machine.close()
    const next = await openMachine({ databases, clock, logBase: snapshot })
    assert.deepEqual([next.quarantine, next.digest], [null, digests[200]], 'the new state is not suspect')
    await next.close()
  }
})

void test('a disagreement record with a wrong hash is damage', async () => {
  const [databases, clock] = [new MemoryKeyValueDatabases(), new ManualClock()]
  const machine = await openMachine({ databases, clock })
  applyUpTo(machine, log, 100)
  machine.suspect('outvoted', 'n2, n3 differ')
  await machine.close()
  const store = await databases.open('db-0')
  await store.write([{ kind: 'put', key: Uint8Array.of(4), value: Buffer.alloc(40) }])
  await store.close()
  const next = await openMachine({ databases, clock, logBase: { ...noSnapshot, index: logIndex(50) } })
  assert.match(next.quarantine?.reason ?? '', /record of a disagreement does not pass its check/)
  await next.close()
})
