/*
 * Goal: the scrub finds a flipped bit in a record, a missing record, and an object in memory that
 * differs from the disk. An intact state passes. The scrub stops on request.
 * Method: a machine on databases that can be damaged, with a manual clock; every seventh record and
 * the head are damaged in turn.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import type { KeyValuePair } from '../../../../src/store/disk/key-value-store.ts'
import { MemoryKeyValueDatabases } from '../../../../src/store/disk/memory-key-value-store.ts'
import { headKey } from '../../../../src/store/disk/machine-keys.ts'
import { hash128, hashBytes, newHash, writeHash } from '../../../../src/store/machine/hash.ts'
import { decodeVersion, recordOf } from '../../../../src/store/machine/object-version.ts'
import { Scrub } from '../../../../src/store/scrub.ts'
import type { ScrubReport } from '../../../../src/store/scrub.ts'
import type { StoreMachine } from '../../../../src/store/store-machine.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'
import { applyUpTo, openMachine, pairsOf, randomLog } from '../../../support/fixtures/store-machines.ts'

const log = randomLog(47, 150)
const limits = { scrubBytesPerSecondMax: 1024 * 1024, scrubFirstMs: 1000, scrubPeriodMs: 60_000 }

class Bench {
  readonly clock = new ManualClock()
  readonly databases = new MemoryKeyValueDatabases()
  readonly reports: ScrubReport[] = []
  readonly machine: StoreMachine
  readonly scrub: Scrub

  private constructor(databases: MemoryKeyValueDatabases, clock: ManualClock, machine: StoreMachine) {
    this.databases = databases
    this.clock = clock
    this.machine = machine
    this.scrub = new Scrub({
      ...{ machine, clock, limits },
      onDone: (report) => this.reports.push(report),
      onRefused: (cause) => assert.fail(String(cause)),
    })
  }

  static async open(): Promise<Bench> {
    const [databases, clock] = [new MemoryKeyValueDatabases(), new ManualClock()]
    const machine = await openMachine({ databases, clock })
    applyUpTo(machine, log, 150)
    await machine.flushed()
    return new Bench(databases, clock, machine)
  }

  /** Damages the database without the machine noticing. */
  async spoil(key: Uint8Array, value: Uint8Array | null): Promise<void> {
    const change = value === null ? { kind: 'delete' as const, key } : { kind: 'put' as const, key, value }
    await this.machine.database?.write([change])
  }

  async round(): Promise<string | null> {
    this.scrub.start()
    await this.clock.advance(30_000)
    const reason = this.machine.quarantine?.reason ?? null
    await this.scrub.close()
    await this.machine.close()
    return reason
  }
}

async function pairs(): Promise<readonly KeyValuePair[]> {
  const bench = await Bench.open()
  await bench.machine.close()
  return pairsOf(bench.databases, 'db-0')
}

void test('an intact state passes a round that reads every record except the head', async () => {
  const bench = await Bench.open()
  assert.equal(await bench.round(), null)
  assert.equal(bench.reports.length, 1)
  assert.equal(bench.scrub.counters.rounds, 1)
  assert.equal(bench.scrub.counters.records, (await pairs()).length - 1)
})

void test('a flipped bit in a record or the head, and a missing record, are found', async () => {
  const random = new SeededRandom(3)
  for (const [at, [key, value]] of (await pairs()).entries()) {
    if (at % 7 !== 0 && !Buffer.from(key).equals(headKey)) continue
    const flipped = Uint8Array.from(value)
    const place = random.below(value.byteLength)
    flipped[place] = (flipped[place] ?? 0) ^ (1 << random.below(8))
    const bench = await Bench.open()
    await bench.spoil(key, flipped)
    assert.match((await bench.round()) ?? '', /^the scrub found/, `value ${at}, byte ${place}`)
    assert.equal(bench.scrub.counters.findings, 1)
    if (Buffer.from(key).equals(headKey)) continue
    const lacking = await Bench.open()
    await lacking.spoil(key, null)
    assert.match((await lacking.round()) ?? '', /^the scrub found/, `value ${at} is missing`)
  }
})

void test('an object in memory that differs from the disk is found, though its hash matches', async () => {
  const bench = await Bench.open()
  const { objects } = bench.machine.state
  const [version] = objects.list('', null, 1).objects
  assert.ok(version)
  const record = Buffer.from(recordOf(version))
  record[record.length - 2] = (record[record.length - 2] ?? 0) ^ 1
  writeHash(hash128(record, hashBytes, newHash()), record, 0)
  objects.set(decodeVersion(record, version.revision))
  assert.match((await bench.round()) ?? '', /memory and database differ about the version/)
})

void test('a scrub stops on request, and one whose database was quarantined reports nothing', async () => {
  const slow = await Bench.open()
  slow.scrub.start()
  await slow.clock.advance(1000)
  const closing = slow.scrub.close()
  await slow.clock.settle()
  await closing
  assert.deepEqual(slow.reports, [])
  await slow.machine.close()
  assert.equal(slow.clock.pending, 0)

  const left = await Bench.open()
  left.scrub.start()
  await left.clock.advance(1000)
  left.machine.enterQuarantine('test')
  await left.clock.advance(10_000)
  assert.deepEqual([left.reports.length, left.machine.quarantine?.reason], [0, 'test'])
  await left.scrub.close()
  await left.machine.close()
})
