/*
 * Goal: no changed byte is ever returned; a log with a loss is refused, and the file is named.
 * Method: corrupt a log on a simulated disk, byte by byte, sector by sector, file by file, and open
 * it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { logIndex, term } from '../../../../raft/core/types.ts'
import { LogError } from '../../../../raft/log/errors.ts'
import type { LogErrorCode } from '../../../../raft/log/errors.ts'
import {
  formatVersion,
  groupHeaderBytes,
  groupMagic,
  sectorBytes,
  segmentName,
  segmentNumber,
} from '../../../../raft/log/layout.ts'
import { checksum } from '../../../../raft/log/checksum.ts'
import { Wal } from '../../../../raft/log/wal.ts'
import { command, commands, hard, meta, readAll, write } from '../../../conformance/log-store.ts'
import { SimulatedDisk } from '../../../simulation/disk.ts'
import { openTinyWal, stateOf } from './random-log.ts'

const last = 30

/** A log of several segments; the last one has several groups, followed by zeros. */
function smallLog(): SimulatedDisk {
  const disk = new SimulatedDisk(new SeededRandom(1))
  const wal = openTinyWal(disk)
  for (let index = 1; index < last; index += 3) {
    wal.append([write(commands(index, index + 2, 1).map(padded), hard(1, 2, index))])
    wal.prepare()
  }
  wal.close()
  return disk
}

function padded(entry: ReturnType<typeof command>): ReturnType<typeof command> {
  return command(entry.index, entry.term, `entry ${entry.index} `.repeat(60))
}

function segmentsOf(disk: SimulatedDisk): readonly string[] {
  return disk
    .list()
    .filter((name) => segmentNumber(name) !== null)
    .toSorted()
}

function lastSegment(disk: SimulatedDisk): string {
  return segmentsOf(disk).at(-1) ?? ''
}

function spoiled(disk: SimulatedDisk, name: string, change: (bytes: Uint8Array) => void): SimulatedDisk {
  const other = disk.copy(new SeededRandom(2))
  const bytes = other.contents(name).slice()
  change(bytes)
  other.put(name, bytes)
  return other
}

function refusal(disk: SimulatedDisk): LogError {
  try {
    openTinyWal(disk).close()
  } catch (cause) {
    if (cause instanceof LogError) return cause
    throw cause
  }
  throw new Error('it opened')
}

function refuses(disk: SimulatedDisk, code: LogErrorCode, ...texts: readonly string[]): void {
  const failure = refusal(disk)
  assert.equal(failure.code, code, failure.message)
  assert.doesNotMatch(failure.message, /\n/)
  for (const text of texts) assert.ok(failure.message.includes(text), `${failure.message} names ${text}`)
}

/**
 * Returns a disk whose process was killed after a last group was written: the offsets of that
 * group, found by comparing the file, and the state of the log before it.
 */
function withLastGroup(): { disk: SimulatedDisk; name: string; start: number; end: number; before: unknown } {
  const disk = new SimulatedDisk(new SeededRandom(3))
  const wal = Wal.open({ disk, random: new SeededRandom(4), aheadBytes: 16 * 1024 })
  wal.append([write(commands(1, 5, 1), hard(1, 1, 2))])
  wal.prepare()
  const name = lastSegment(disk)
  const old = disk.contents(name).slice()
  wal.close()
  const before = stateOf(Wal.open({ disk, random: new SeededRandom(4) }))
  const again = Wal.open({ disk, random: new SeededRandom(4) })
  again.append([write([padded(command(6, 1)), command(7, 1, 'x'), padded(command(8, 2))], hard(2, null, 3))])
  const now = disk.contents(name)
  const start = now.findIndex((byte, at) => byte !== old[at])
  return { disk, name, start, end: start + bodyEndOf(now.subarray(start)), before }
}

/** Returns the end of the records and the mark of a group: padding has no content. */
function bodyEndOf(group: Uint8Array): number {
  return groupHeaderBytes + new DataView(group.buffer, group.byteOffset).getUint32(12, true)
}

void test('a write that ends at any byte is removed completely, and the log continues', () => {
  const { disk, name, start, end, before } = withLastGroup()
  for (let cut = start; cut < end; cut++) {
    const torn = spoiled(disk, name, (bytes) => bytes.fill(0, cut))
    const wal = Wal.open({ disk: torn, random: new SeededRandom(4) })
    assert.deepEqual(stateOf(wal), before, `cut at ${cut}`)
    assert.equal(wal.recovered.repaired === null, cut === start, `cut at ${cut} is reported`)
    wal.append([write(commands(6, 9, 4))])
    wal.close()
    const again = Wal.open({ disk: torn, random: new SeededRandom(4) })
    assert.equal(again.recovered.repaired, null)
    assert.deepEqual(readAll(again, 6, 9), commands(6, 9, 4))
    again.close()
  }
})

void test('a write with any missing sectors is removed completely', () => {
  const { disk, name, start, end, before } = withLastGroup()
  const sectors = Math.ceil((end - start) / sectorBytes)
  assert.ok(sectors >= 2 && start % sectorBytes === 0)
  for (let missing = 1; missing < 2 ** sectors; missing++) {
    const torn = spoiled(disk, name, (bytes) => {
      for (let at = 0; at < sectors; at++) {
        if ((missing & (1 << at)) !== 0)
          bytes.fill(0, start + at * sectorBytes, start + (at + 1) * sectorBytes)
      }
    })
    const wal = Wal.open({ disk: torn, random: new SeededRandom(4) })
    assert.deepEqual(stateOf(wal), before)
    wal.close()
  }
})

void test('a truncated file is treated as an interrupted write', () => {
  const { disk, name, start, end, before } = withLastGroup()
  for (const length of [start, start + 1, start + 600, end - 1]) {
    const torn = disk.copy(new SeededRandom(2))
    torn.put(name, torn.contents(name).slice(0, length))
    assert.deepEqual(stateOf(Wal.open({ disk: torn, random: new SeededRandom(4) })), before)
  }
})

void test('a flipped bit anywhere is refused, or is in an unused part', () => {
  const disk = smallLog()
  const whole = stateOf(openTinyWal(disk.copy(new SeededRandom(2))))
  const random = new SeededRandom(7)
  let refused = 0
  for (const name of disk.list()) {
    for (let at = 0; at < disk.contents(name).length; at += 1 + random.below(5)) {
      const flipped = spoiled(disk, name, (bytes) => {
        bytes[at] = (bytes[at] ?? 0) ^ (1 << random.below(8))
      })
      try {
        const wal = openTinyWal(flipped)
        assert.deepEqual(stateOf(wal), whole, `${name} at ${at}`)
        wal.close()
      } catch (cause) {
        assert.ok(cause instanceof LogError, `${name} at ${at}`)
        assert.ok(
          ['damaged', 'foreign', 'newer-format', 'missing-segment'].includes(cause.code),
          cause.message,
        )
        refused++
      }
    }
  }
  assert.ok(refused > 2_000)
})

void test('a flipped bit in a last write with zero sectors is not an interrupted write', () => {
  const disk = new SimulatedDisk(new SeededRandom(1))
  const wal = Wal.open({ disk, random: new SeededRandom(4) })
  wal.append([write(commands(1, 3, 1))])
  const data = new Uint8Array(3000)
  data.fill(7, 0, 100)
  data.fill(9, 2900)
  wal.append([write([{ index: logIndex(4), term: term(1), kind: 'command', data }])])
  wal.close()
  const name = lastSegment(disk)
  const [start = 0] = groupStarts(disk.contents(name)).slice(-1)
  for (let at = start; at < start + 48 + 12 + 16 + 3000 + 4; at++) {
    refuses(
      spoiled(disk, name, (bytes) => {
        bytes[at] = (bytes[at] ?? 0) ^ (1 << (at % 8))
      }),
      'damaged',
    )
  }
})

void test('a zeroed sector before a later write is damage, not an interrupted write, and nothing is changed', () => {
  const disk = smallLog()
  const names = segmentsOf(disk)
  for (const name of [names[0] ?? '', names.at(-1) ?? '']) {
    const whole = disk.contents(name)
    const lastGroup = groupStarts(whole).at(-1) ?? 0
    for (let at = sectorBytes; at < lastGroup; at += sectorBytes) {
      const zeroed = spoiled(disk, name, (bytes) => bytes.fill(0, at, at + sectorBytes))
      const before = zeroed.contents(name).slice()
      refuses(zeroed, 'damaged', name, 'byte', 'replaced by a new member')
      assert.deepEqual(zeroed.contents(name), before)
      assert.deepEqual(zeroed.list().toSorted(), disk.list().toSorted())
    }
  }
})

function groupStarts(bytes: Uint8Array): readonly number[] {
  const view = new DataView(bytes.buffer)
  const sectors = Array.from({ length: Math.floor(bytes.length / sectorBytes) }, (_, at) => at * sectorBytes)
  return sectors.filter((at) => view.getUint32(at, true) === groupMagic)
}

void test('a write of a diverged copy of this log is refused', () => {
  const disk = new SimulatedDisk(new SeededRandom(1))
  const wal = Wal.open({ disk, random: new SeededRandom(4) })
  wal.append([write(commands(1, 3, 1))])
  wal.close()
  const copy = disk.copy(new SeededRandom(2))
  const name = lastSegment(disk)
  for (const [one, text] of [
    [disk, 'this'],
    [copy, 'that'],
  ] as const) {
    const forked = Wal.open({ disk: one, random: new SeededRandom(4) })
    forked.append([write([command(4, 1, text)])])
    forked.append([write([command(5, 1, text)])])
  }
  const start = groupStarts(copy.contents(name)).at(-1) ?? 0
  const foreign = copy.contents(name).slice(start)
  refuses(
    spoiled(disk, name, (bytes) => bytes.set(foreign, start)),
    'damaged',
    'does not follow',
  )
})

void test('exchanged writes are refused, although each is intact', () => {
  const disk = new SimulatedDisk(new SeededRandom(1))
  const wal = Wal.open({ disk, random: new SeededRandom(4) })
  for (let index = 1; index <= 3; index++) wal.append([write([command(index, 1, 'same size')])])
  wal.close()
  const name = lastSegment(disk)
  const groups = (disk.contents(name).length - 4 * sectorBytes) / sectorBytes
  assert.equal(groups, 1)
  refuses(
    spoiled(disk, name, (bytes) => {
      const [one, two] = [bytes.slice(1024, 1536), bytes.slice(1536, 2048)]
      bytes.set(two, 1024)
      bytes.set(one, 1536)
    }),
    'damaged',
  )
})

void test('a later group in the place of the head is refused, although it is intact', () => {
  const disk = new SimulatedDisk(new SeededRandom(1))
  const wal = openTinyWal(disk)
  wal.append([write(commands(1, 3, 1), hard(1, 2, 3))])
  wal.compact(meta(3, 1))
  wal.append([write(commands(4, 4, 1))])
  disk.kill()
  const name = lastSegment(disk)
  const groups = groupsIn(disk.contents(name))
  assert.equal(groups.length, 4)
  // The groups are head, entries, compaction and entries. A log that began with the compaction
  // would lack the vote.
  const misplaced = spoiled(disk, name, (bytes) => {
    const moved = bytes.slice(groups[2])
    bytes.fill(0, sectorBytes)
    bytes.set(moved, sectorBytes)
  })
  refuses(misplaced, 'damaged', name, 'head')
})

/** Returns the offsets of the groups of a segment. */
function groupsIn(bytes: Uint8Array): readonly number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const found: number[] = []
  for (let at = 0; at + sectorBytes <= bytes.length; at += sectorBytes) {
    if (view.getUint32(at, true) === groupMagic) found.push(at)
  }
  return found
}

void test('corruption of an open log is detected on read', () => {
  const disk = new SimulatedDisk(new SeededRandom(1))
  const wal = Wal.open({ disk, random: new SeededRandom(4) })
  wal.append([write(commands(1, 3, 1))])
  const bytes = disk.contents(lastSegment(disk))
  const at = bytes.findLastIndex((byte) => byte === 'm'.charCodeAt(0))
  bytes[at] = 'n'.charCodeAt(0)
  assert.deepEqual(readAll(wal, 1, 2), commands(1, 2, 1))
  assert.throws(
    () => wal.read(logIndex(1), logIndex(3), 1000),
    (cause) => cause instanceof LogError && cause.code === 'damaged',
  )
})

void test('a missing segment is named, wherever it is', () => {
  const disk = smallLog()
  const names = segmentsOf(disk)
  assert.ok(names.length >= 3)
  for (const name of names) {
    const other = disk.copy(new SeededRandom(2))
    other.remove(name)
    refuses(other, 'missing-segment', name)
  }
})

void test('segments that a compaction had removed may reappear', () => {
  const disk = smallLog()
  const names = segmentsOf(disk)
  const copy = disk.copy(new SeededRandom(2))
  const wal = openTinyWal(copy)
  wal.compact(meta(28, 1, 1))
  wal.close()
  assert.ok(copy.list().length < names.length - 1)
  const [first = ''] = names
  copy.put(first, disk.contents(first).slice())
  const again = openTinyWal(copy)
  assert.deepEqual(readAll(again, 29, 30), commands(29, 30, 1).map(padded))
  assert.ok(!copy.list().includes(first))
})

void test('a foreign file, a segment of another log and a later format are refused by name', () => {
  const disk = smallLog()
  const names = segmentsOf(disk)
  const [, second = ''] = names
  const text = disk.copy(new SeededRandom(2))
  text.put(second, new TextEncoder().encode('hello '.repeat(200)))
  refuses(text, 'foreign', second)

  const otherDisk = new SimulatedDisk(new SeededRandom(1))
  const other = Wal.open({ disk: otherDisk, random: new SeededRandom(1234), segmentBytes: 2048 })
  for (let index = 1; index < 50; index++) other.append([write([padded(command(index, 1))])])
  other.close()
  const mixed = disk.copy(new SeededRandom(2))
  mixed.put(segmentName(names.length + 1), otherDisk.contents(segmentName(names.length + 1)).slice())
  refuses(mixed, 'foreign', segmentName(names.length + 1))

  const later = spoiled(disk, second, (bytes) => {
    const view = new DataView(bytes.buffer)
    view.setUint32(8, formatVersion + 1, true)
    view.setUint32(12, checksum(bytes.subarray(16, 512), checksum(bytes.subarray(0, 12), 0)), true)
  })
  refuses(later, 'newer-format', second, `format ${formatVersion + 1}`)
})
