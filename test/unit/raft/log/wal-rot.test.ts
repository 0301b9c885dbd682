/*
 * Goal: corruption in the log of a stopped or killed member never loses or changes acknowledged
 * writes: the log is intact, or is refused by name. Data treated as an interrupted write was never
 * acknowledged.
 * Method: one small log of several segments on a simulated disk; every byte changed alone, files
 * cut at many lengths, every sector zeroed, copied over another, exchanged with another; each
 * opened and compared.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { SeededRandom } from '../../../../base/random.ts'
import { nodeId } from '../../../../raft/core/types.ts'
import { LogError } from '../../../../raft/log/errors.ts'
import {
  groupBytes,
  groupHeaderBytes,
  groupMagic,
  preambleBytes,
  sectorBytes,
  segmentNumber,
} from '../../../../raft/log/layout.ts'
import { Wal } from '../../../../raft/log/wal.ts'
import { command, hard, write } from '../../../conformance/log-store.ts'
import { SimulatedDisk } from '../../../simulation/disk.ts'
import { everyVariant } from '../../../support/fixtures/variants.ts'
import { stateOf } from './random-log.ts'
import { openSmallWal as open, ours, smallLog, spoiled } from './small-log.ts'

/**
 * `shortened`: it lost its end and reports it. `silent`: it lost its end, and the rest looks like
 * an intact log.
 */
type Verdict = 'whole' | 'refused' | 'shortened' | 'silent'

/** Opens the log; a refusal must be one line, and leave the disk unchanged. */
function judge(disk: SimulatedDisk, whole: unknown, what: string): Verdict {
  const steps = disk.steps
  let wal: Wal
  try {
    wal = open(disk)
  } catch (cause) {
    assert.ok(cause instanceof LogError, `${what}: ${String(cause)}`)
    assert.match(cause.message, /log (\d{12}\.log|end) .*[;:] /, `${what} names the file and the remedy`)
    assert.doesNotMatch(cause.message, /\n/)
    assert.equal(disk.steps, steps, `${what}: can be written to`)
    return 'refused'
  }
  const found = stateOf(wal)
  if (isDeepStrictEqual(found, whole)) return 'whole'
  const isSilent = wal.recovered.repaired === null
  // The opened log can be written to.
  wal.append([write([], hard(9, null, 0))])
  wal.close()
  open(disk).close()
  return isSilent ? 'silent' : 'shortened'
}

type Tally = Record<Verdict, number>

function tally(): Tally {
  return { whole: 0, refused: 0, shortened: 0, silent: 0 }
}

function segmentsOf(disk: SimulatedDisk): readonly string[] {
  const names = disk.list().filter((name) => segmentNumber(name) !== null)
  assert.ok(names.length >= 3)
  return names.toSorted()
}

for (const end of ['closed', 'killed'] as const) {
  const disk = smallLog(end)
  const whole = stateOf(open(disk.copy(new SeededRandom(3))))

  void test(`${end}: one changed byte anywhere is refused, or changes nothing`, () => {
    const random = new SeededRandom(5)
    const counts = tally()
    // Without an end mark the logs differ in the last segment only.
    const names = end === 'closed' ? disk.list() : segmentsOf(disk).slice(-1)
    for (const name of names) {
      for (let at = 0; at < disk.contents(name).length; at++) {
        const byte = disk.contents(name)[at] ?? 0
        const masks = byte === 0 ? [1 + random.below(255)] : [byte, 1 << random.below(8)]
        // In `make test` a byte is either zeroed or gets one bit changed.
        if (!everyVariant && masks.length > 1) masks.splice(at % 2, 1)
        for (const mask of masks) {
          const what = `${name} at ${at} changed by ${mask}`
          const damagedDisk = spoiled(disk, name, (bytes) => {
            bytes[at] = byte ^ mask
            return bytes
          })
          counts[judge(damagedDisk, whole, what)]++
          assert.equal(counts.shortened + counts.silent, 0, what)
        }
      }
    }
    console.log(`# ${end}, bytes changed: ${JSON.stringify(counts)}`)
    assert.ok(counts.refused > 2_000 && counts.whole > 500, JSON.stringify(counts))
  })

  void test(`${end}: a file of any shorter length ${end === 'closed' ? 'is refused' : 'may lose its end only'}`, () => {
    const counts = tally()
    for (const name of disk.list()) {
      const isLast = name === segmentsOf(disk).at(-1)
      const bodies = bodyEnds(disk.contents(name))
      for (let length = 0; length < disk.contents(name).length; length += length % 512 < 80 ? 1 : 7) {
        const what = `${name} cut to ${length}`
        const damagedDisk = spoiled(disk, name, (bytes) => bytes.slice(0, length))
        const verdict = judge(damagedDisk, whole, what)
        counts[verdict]++
        if (verdict !== 'shortened' && verdict !== 'silent') continue
        // Only here a lost end looks like a power failure: the database still detects that applied
        // entries are missing.
        assert.ok(end === 'killed' && isLast, `${what}: a closed log knows its length`)
        const border = bodies.some(([from, to]) => length >= from && length <= to)
        assert.equal(verdict, border ? 'silent' : 'shortened', what)
      }
    }
    console.log(`# ${end}, files cut: ${JSON.stringify(counts)}`)
    assert.ok(counts.refused > 1_000)
  })

  void test(`${end}: a zeroed, duplicated, moved or exchanged sector is refused, or affects no acknowledged write`, () => {
    const counts = tally()
    for (const name of segmentsOf(disk)) {
      const bytes = disk.contents(name)
      const isLast = name === segmentsOf(disk).at(-1)
      const lastGroup = groupStarts(bytes).at(-1) ?? 0
      const sectors = Math.floor(bytes.length / sectorBytes)
      for (let to = 0; to < sectors; to++) {
        for (let from = -1; from < sectors; from++) {
          for (const both of from < 0 ? [false] : [false, true]) {
            const what = `${name}: sector ${from} ${both ? 'exchanged with' : 'over'} ${to}`
            const verdict = judge(misplaced(disk, name, { from, to, both }), whole, what)
            counts[verdict]++
            assert.notEqual(verdict, 'silent', what)
            if (verdict !== 'shortened') continue
            assert.equal(end, 'killed', `${what}: a closed log knows its length`)
            assert.ok(isLast && to * sectorBytes >= lastGroup, `${what}: only of the last write`)
          }
        }
      }
    }
    console.log(`# ${end}, sectors misplaced: ${JSON.stringify(counts)}`)
    assert.ok(counts.refused > 500)
  })
}

/** @param from the sector to copy from; -1 for zeros */
function misplaced(
  disk: SimulatedDisk,
  name: string,
  { from, to, both }: { readonly from: number; readonly to: number; readonly both: boolean },
): SimulatedDisk {
  return spoiled(disk, name, (bytes) => {
    const sector = (at: number): Uint8Array =>
      at < 0 ? new Uint8Array(sectorBytes) : bytes.slice(at * sectorBytes, (at + 1) * sectorBytes)
    const [one, other] = [sector(from), sector(to)]
    bytes.set(one, to * sectorBytes)
    if (both) bytes.set(other, from * sectorBytes)
    return bytes
  })
}

/** Returns the end of each group's content and the start of the next group. */
function bodyEnds(bytes: Uint8Array): readonly (readonly [number, number])[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return groupStarts(bytes).map((start) => {
    const bodyBytes = view.getUint32(start + 12, true)
    return [start + groupHeaderBytes + bodyBytes, start + groupBytes(bodyBytes)]
  })
}

function groupStarts(bytes: Uint8Array): readonly number[] {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const starts: number[] = []
  for (let at = preambleBytes; at + 4 <= bytes.length; at += sectorBytes) {
    if (view.getUint32(at, true) === groupMagic) starts.push(at)
  }
  return starts
}

void test('the files of another member, and those of a lost log, are refused by name', () => {
  const disk = smallLog('closed')
  const code = (spoil: (disk: SimulatedDisk) => void, owner = ours): string => {
    const copy = disk.copy(new SeededRandom(2))
    spoil(copy)
    try {
      Wal.open({ disk: copy, random: new SeededRandom(1), owner }).close()
    } catch (cause) {
      if (cause instanceof LogError) return `${cause.code}: ${cause.message}`
      throw cause
    }
    return 'opened'
  }
  assert.equal(
    code(() => undefined),
    'opened',
  )
  assert.match(
    code(() => undefined, nodeId(8)),
    /^foreign: log 000000000001\.log is that of member 7, this is member 8: /,
  )
  assert.match(
    code((copy) => {
      for (const name of segmentsOf(copy)) copy.remove(name)
    }),
    /^missing-segment: log 00000000000\d\.log is missing; /,
  )
  const other = new SimulatedDisk(new SeededRandom(1))
  Wal.open({ disk: other, random: new SeededRandom(12345), owner: ours }).close()
  assert.match(
    code((copy) => copy.put('end', other.contents('end').slice())),
    /^foreign: file end of the log belongs to another log; /,
  )
})

void test('a killed member may lose later writes, and nothing from before its last close', () => {
  const disk = smallLog('closed')
  const closed = disk.copy(new SeededRandom(2))
  const wal = open(disk)
  wal.append([write([command(12, 3)], hard(4, 2, 11))])
  const name = segmentsOf(disk).at(-1) ?? ''
  const start = groupStarts(disk.contents(name)).at(-1) ?? 0
  const before = stateOf(open(closed))
  const lost = spoiled(disk, name, (bytes) => bytes.fill(0, start))
  assert.deepEqual(stateOf(open(lost)), before)
  const more = spoiled(disk, name, (bytes) => bytes.fill(0, start - sectorBytes))
  assert.throws(
    () => open(more),
    (cause) => cause instanceof LogError && /present when the log was closed are missing/.test(cause.message),
  )
})
