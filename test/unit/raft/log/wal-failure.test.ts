/*
 * Goal: a log that failed once acknowledges nothing afterwards, even on a disk that works again.
 * Method: one sync or write of the simulated disk fails; then the disk works again.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { logIndex, term } from '../../../../raft/core/types.ts'
import { Wal } from '../../../../raft/log/wal.ts'
import type { LogWrite } from '../../../../raft/ports.ts'
import { SimulatedDisk } from '../../../simulation/disk.ts'

function write(index: number): LogWrite {
  const entry = {
    index: logIndex(index),
    term: term(1),
    kind: 'command',
    data: Uint8Array.of(index),
  } as const
  return { snapshot: null, entries: [entry], hardState: null }
}

for (const operation of ['sync', 'write'] as const) {
  void test(`after a failed ${operation} nothing more is written`, () => {
    const disk = new SimulatedDisk(new SeededRandom(1))
    const log = Wal.open({ disk, random: new SeededRandom(2) })
    log.append([write(1)])
    disk.fail(operation, 'io')
    assert.throws(() => log.append([write(2)]), { code: 'io' })
    // The kernel may have dropped the page and marked it clean: the next sync would succeed without
    // effect.
    disk.heal()
    assert.throws(() => log.append([write(2)]), { code: 'dead' })
    assert.throws(() => log.compact({ ...log.recovered.base, index: logIndex(1), term: term(1) }), {
      code: 'dead',
    })
  })
}

void test('a full disk is no error for zeros written ahead, and a compaction frees space for them', () => {
  const disk = new SimulatedDisk(new SeededRandom(1))
  const log = Wal.open({ disk, random: new SeededRandom(2), aheadBytes: 4096 })
  log.append([write(1)])
  disk.fail('write', 'disk-full')
  log.prepare()
  disk.heal()
  const before = log.size.bytes
  log.prepare()
  assert.equal(log.size.bytes, before, 'it was full a moment ago')
  log.append([write(2)])
  log.compact({ ...log.recovered.base, index: logIndex(1), term: term(1) })
  log.prepare()
  assert.ok(log.size.bytes > before)
  log.close()
  const again = Wal.open({ disk, random: new SeededRandom(3) })
  assert.deepEqual([again.recovered.base.index, again.recovered.lastIndex], [1, 2])
})

void test('other errors of zeros written ahead are fatal', () => {
  const disk = new SimulatedDisk(new SeededRandom(1))
  const log = Wal.open({ disk, random: new SeededRandom(2), aheadBytes: 4096 })
  disk.fail('write', 'io')
  assert.throws(() => log.prepare(), { code: 'io' })
  assert.throws(() => log.append([write(1)]), { code: 'dead' })
})
