/*
 * Goal: a member whose state comes out wrong again and again waits ever longer before it asks for another, says how often,
 * and forgets it after a time of trust.
 * Method: the turns one after another; then the machine with a clock by hand, condemned as soon as it is mended.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logIndex } from '../../../../raft/index.ts'
import { MemoryKeyValueHome } from '../../../../src/store/disk/memory-key-value-store.ts'
import { defaultStoreLimits } from '../../../../src/store/limits.ts'
import { RepairBackOff } from '../../../../src/store/repair-back-off.ts'
import { ManualClock } from '../../../support/manual-clock.ts'
import { applyUpTo, chunksOf, openMachine, randomLog } from '../../../support/store-machines.ts'

void test('waits double from one second to five minutes, and the first does not wait', () => {
  const backOff = new RepairBackOff(defaultStoreLimits, 0)
  const turns = Array.from({ length: 12 }, () => backOff.condemned(1000))
  assert.deepEqual(
    turns.map(({ waitMs }) => waitMs / 1000),
    [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300],
  )
  assert.deepEqual(turns.at(-1)?.times, 12)
})

void test('an hour of trust ends a row, and less does not', () => {
  const backOff = new RepairBackOff(defaultStoreLimits, 0)
  for (let time = 0; time < 4; time++) backOff.condemned(0)
  backOff.trusted(10_000)
  assert.equal(backOff.condemned(10_000 + 3_599_999).times, 5)
  backOff.trusted(4_000_000)
  assert.deepEqual(backOff.condemned(4_000_000 + 3_600_000), { times: 1, waitMs: 0 })
})

void test('a machine in a row asks for a state only when its turn has come, and is in quarantine until then', async () => {
  const log = randomLog(47, 300)
  const clock = new ManualClock()
  const machine = await openMachine({ home: new MemoryKeyValueHome(), clock })
  const donor = await openMachine({ home: new MemoryKeyValueHome(), clock })
  applyUpTo(machine, log, 100)
  const waited: number[] = []
  for (let time = 1; time <= 4; time++) {
    machine.condemn('test', time % 2 === 0 ? 'outvoted' : 'damaged')
    assert.equal(machine.quarantine?.times, time)
    const { waitMs } = machine.quarantine
    waited.push(waitMs)
    if (waitMs > 0) {
      assert.equal(machine.wanted, null)
      await clock.advance(waitMs - 1)
      assert.equal(machine.wanted, null)
      await clock.advance(1)
    }
    assert.equal(machine.wanted, machine.quarantine.atLeast)
    applyUpTo(donor, log, 100 + time)
    const source = await donor.produceSnapshot(logIndex(100 + time))
    const chunks = await chunksOf(source)
    const sink = await machine.stageSnapshot(source.snapshot)
    for (const chunk of chunks) await sink.chunk(chunk)
    await sink.finish()
    await machine.installSnapshot(source.snapshot)
    assert.equal(machine.quarantine, null)
  }
  assert.deepEqual(waited, [0, 1000, 2000, 4000])
  assert.deepEqual(machine.quarantines, { damaged: 2, outvoted: 2 })
  await machine.close()
  await donor.close()
})
