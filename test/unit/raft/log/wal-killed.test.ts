/*
 * Goal: a log of a killed process, without an end mark, still distinguishes damage from an
 * interrupted write.
 * Method: every sector of an earlier write is zeroed, and bytes of the last one are changed, one at
 * a time.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { LogError } from '../../../../raft/log/errors.ts'
import { groupHeaderBytes, groupMagic, sectorBytes } from '../../../../raft/log/layout.ts'
import { Wal } from '../../../../raft/log/wal.ts'
import { command, hard, write } from '../../../conformance/log-store.ts'
import { SimulatedDisk } from '../../../simulation/disk.ts'

/** Four writes of several sectors each, in one segment; the log was never closed. */
function killedLog(): {
  readonly disk: SimulatedDisk
  readonly name: string
  readonly groups: readonly number[]
} {
  const disk = new SimulatedDisk(new SeededRandom(1))
  const log = Wal.open({ disk, random: new SeededRandom(2) })
  for (let index = 1; index <= 4; index++) {
    log.append([write([command(index, 1, `entry ${index} `.repeat(200))], hard(1, 1, index))])
  }
  const [name] = disk.list().filter((file) => disk.contents(file).length > 4 * sectorBytes)
  assert.ok(name !== undefined)
  const bytes = disk.contents(name)
  const view = new DataView(bytes.buffer, bytes.byteOffset)
  const groups: number[] = []
  for (let at = 0; at + 4 <= bytes.length; at += sectorBytes) {
    if (view.getUint32(at, true) === groupMagic) groups.push(at)
  }
  return { disk, name, groups }
}

function isRefused(disk: SimulatedDisk, name: string, change: (bytes: Uint8Array) => void): boolean {
  const other = disk.copy(new SeededRandom(3))
  const bytes = other.contents(name).slice()
  change(bytes)
  other.put(name, bytes)
  try {
    Wal.open({ disk: other, random: new SeededRandom(4) }).close()
    return false
  } catch (cause) {
    assert.ok(cause instanceof LogError && cause.code === 'damaged', String(cause))
    return true
  }
}

void test('a lost sector before later writes is damage: a power failure does not cause it', () => {
  const { disk, name, groups } = killedLog()
  const last = groups.at(-1) ?? 0
  assert.ok(groups.length >= 4)
  const taken: number[] = []
  for (let at = groups[1] ?? 0; at < last; at += sectorBytes) {
    if (!isRefused(disk, name, (bytes) => bytes.fill(0, at, at + sectorBytes))) taken.push(at)
  }
  assert.deepEqual(taken, [])
})

void test('a changed byte in the last write is damage: a power failure does not cause it', () => {
  const { disk, name, groups } = killedLog()
  const start = groups.at(-1) ?? 0
  const taken: number[] = []
  for (let at = start + groupHeaderBytes; at < start + 2 * sectorBytes; at += 7) {
    if (!isRefused(disk, name, (bytes) => (bytes[at] = (bytes[at] ?? 0) ^ 0x20))) taken.push(at)
  }
  assert.deepEqual(taken, [])
})
