/*
 * Goal: a member whose state is damaged repeatedly backs off exponentially before it requests
 * another state, counts the damaged states in a row, and resets the count after a time of trust.
 * Method: the function that computes the waits; then the machine with a manual clock, damaged again
 * after each repair.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logIndex } from '../../../../raft/index.ts'
import { MemoryKeyValueDatabases } from '../../../../src/store/disk/memory-key-value-store.ts'
import { defaultStoreLimits } from '../../../../src/store/store-limits.ts'
import { repairWaitMs } from '../../../../src/store/quarantine.ts'
import type { StoreMachine } from '../../../../src/store/store-machine.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'
import { applyUpTo, chunksOf, openMachine, randomLog } from '../../../support/fixtures/store-machines.ts'

void test('waits double from one second to five minutes, and the first repair does not wait', () => {
  const waits = Array.from({ length: 12 }, (_, at) => repairWaitMs(at + 1, defaultStoreLimits))
  assert.deepEqual(
    waits.map((waitMs) => waitMs / 1000),
    [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300],
  )
})

class Bench {
  readonly clock = new ManualClock()
  readonly #log = randomLog(47, 300)
  #index = 100

  async open(): Promise<StoreMachine> {
    const machine = await openMachine({ databases: new MemoryKeyValueDatabases(), clock: this.clock })
    applyUpTo(machine, this.#log, this.#index)
    return machine
  }

  /** Installs another member's state. */
  async repaired(machine: StoreMachine): Promise<void> {
    this.#index++
    const donor = await this.open()
    const source = await donor.produceSnapshot(logIndex(this.#index))
    const chunks = await chunksOf(source)
    const sink = await machine.stageSnapshot(source.snapshot)
    for (const chunk of chunks) await sink.chunk(chunk)
    await sink.finish()
    await machine.installSnapshot(source.snapshot)
    await donor.close()
    assert.equal(machine.quarantine, null)
  }

  /** @returns the wait, and the number of damaged states in a row */
  damaged(machine: StoreMachine): { readonly waitMs: number; readonly times: number } {
    machine.enterQuarantine('test')
    const { quarantine } = machine
    assert.ok(quarantine?.cause === 'damaged')
    return quarantine
  }
}

void test('a machine in back-off requests a state only when its wait is over', async () => {
  const bench = new Bench()
  const machine = await bench.open()
  const waited: number[] = []
  for (let time = 1; time <= 4; time++) {
    const { waitMs, times } = bench.damaged(machine)
    assert.equal(times, time)
    waited.push(waitMs)
    if (waitMs > 0) {
      assert.equal(machine.wanted, null)
      await bench.clock.advance(waitMs - 1)
      assert.equal(machine.wanted, null)
      await bench.clock.advance(1)
    }
    assert.equal(machine.wanted, machine.appliedMemory)
    await bench.repaired(machine)
  }
  assert.deepEqual(waited, [0, 1000, 2000, 4000])
  assert.deepEqual(machine.quarantines, { damaged: 4, disagreement: 0, operator: 0 })
  await machine.close()
})

void test('an hour of trust ends a series of repairs, and less does not', async () => {
  const bench = new Bench()
  const machine = await bench.open()
  for (const [trustedMs, times] of [
    [0, 1],
    [3_599_999, 2],
    [3_600_000, 1],
  ] as const) {
    await bench.clock.advance(trustedMs)
    const found = bench.damaged(machine)
    assert.equal(found.times, times)
    await bench.clock.advance(found.waitMs)
    await bench.repaired(machine)
  }
  await machine.close()
})

void test('the repair of an operator never waits', async () => {
  const bench = new Bench()
  const machine = await bench.open()
  for (let time = 1; time <= 3; time++) {
    await bench.clock.advance(bench.damaged(machine).waitMs)
    await bench.repaired(machine)
  }
  machine.repair('test')
  assert.equal(machine.wanted, machine.appliedMemory)
  await bench.repaired(machine)
  assert.deepEqual(machine.quarantines, { damaged: 3, disagreement: 0, operator: 1 })
  await machine.close()
})
