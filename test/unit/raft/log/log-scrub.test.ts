/*
 * Goal: a byte that changes under an open log is found by one pass, and the log is rewritten
 * without it while it runs; an intact log is never reported as damaged, whatever is written to it
 * during a pass.
 * Method: random and small logs on a simulated disk, bytes changed while they are open, the scrub a
 * turn at a time.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { logIndex, term } from '../../../../raft/core/types.ts'
import { defaultLogLimits } from '../../../../raft/log/limits.ts'
import { LogScrub } from '../../../../raft/log/log-scrub.ts'
import { MemoryLog } from '../../../../raft/log/memory-log.ts'
import { scrubStart } from '../../../../raft/log/scrub.ts'
import type { ScrubPlace } from '../../../../raft/log/scrub.ts'
import { segmentNumber } from '../../../../raft/log/layout.ts'
import type { Wal } from '../../../../raft/log/wal.ts'
import { command, configurationOf, contents, hard, write } from '../../../conformance/log-store.ts'
import { SimulatedDisk } from '../../../simulation/disk.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'
import { drawOperation, modelState, openTinyWal, perform, stateOf } from './random-log.ts'
import { openSmallWal, smallLog } from './small-log.ts'

function findings(wal: Wal, bytesMax: number): readonly string[] {
  const found: string[] = []
  for (let place: ScrubPlace | null = scrubStart; place !== null;) {
    const { next, finding } = wal.scrub(place, bytesMax)
    if (finding !== null) found.push(finding)
    place = next
  }
  return found
}

void test('a log that is written, compacted and replaced during a scrub has no damage', () => {
  let passes = 0
  for (let seed = 1; seed <= 40; seed++) {
    const random = new SeededRandom(seed)
    const disk = new SimulatedDisk(random.fork())
    const wal = openTinyWal(disk)
    const model = new MemoryLog()
    let place: ScrubPlace | null = null
    for (let step = 0; step < 60; step++) {
      const operation = drawOperation(random, model)
      perform(wal, operation)
      perform(model, operation)
      if (random.chance(0.3)) wal.prepare()
      for (let turn = random.below(4); turn > 0; turn--) {
        const { next, finding, bytes } = wal.scrub(place ?? scrubStart, 1 + random.below(3000))
        assert.equal(finding, null, `seed ${seed}`)
        assert.ok(bytes < 10_000, `${bytes} in one turn`)
        if (next === null) passes++
        place = next
      }
      if (random.chance(0.1)) {
        assert.equal(wal.rewrite(Infinity), true)
      }
    }
    assert.deepEqual(findings(wal, 700), [])
    wal.close()
    assert.deepEqual(stateOf(openTinyWal(disk)), modelState(model))
  }
  assert.ok(passes > 40, `${passes} passes`)
})

void test('any changed byte in the written part is found', () => {
  const disk = smallLog('killed')
  const wal = openSmallWal(disk)
  const used = new Map(wal.scrubbed().map(({ name, end }) => [name, end]))
  for (const [name, end] of used) {
    for (let at = 0; at < end; at += 1 + (at % 13)) {
      const bytes = disk.contents(name)
      bytes[at] = (bytes[at] ?? 0) ^ 0x10
      const found = findings(wal, 400)
      bytes[at] = (bytes[at] ?? 0) ^ 0x10
      assert.equal(found.length, 1, `${name} at ${at}: ${JSON.stringify(found)}`)
      assert.match(found[0] ?? '', new RegExp(`^log ${name} is damaged at byte \\d+: `))
    }
  }
  assert.deepEqual(findings(wal, 400), [])
})

function bench() {
  const disk = smallLog('killed')
  const wal = openSmallWal(disk)
  const clock = new ManualClock()
  const notices: string[] = []
  const scrub = new LogScrub({
    ...{ wal, clock, limits: { ...defaultLogLimits, scrubTurnBytes: 1000 } },
    guard: (turn) => turn(),
    found: (line) => notices.push(line),
    repaired: (line) => notices.push(line),
    passed: () => notices.push('passed'),
  })
  scrub.start()
  const wait = async (ms: number): Promise<void> => {
    for (let at = 0; at < ms; at += 100) await clock.advance(100)
  }
  const corrupt = (segment: number, at: number): void => {
    const name =
      disk
        .list()
        .filter((one) => segmentNumber(one) !== null)
        .toSorted()[segment] ?? assert.fail()
    const bytes = disk.contents(name)
    bytes[at] = (bytes[at] ?? 0) ^ 1
  }
  return { disk, wal, clock, scrub, notices, wait, corrupt }
}

const base = { index: logIndex(10), term: term(1), configuration: configurationOf(1, 2, 7) }

void test('damage disappears once the base has moved past it, and the log continues', async () => {
  const { disk, wal, notices, wait, corrupt, scrub } = bench()
  corrupt(1, 1600)
  const { hardState, lastIndex } = wal.recovered
  await wait(defaultLogLimits.scrubFirstMs + 10_000)
  assert.equal(notices.length, 2)
  assert.match(notices[0] ?? '', /^log 0+2\.log is damaged at byte/)
  scrub.repair()
  assert.equal(notices.length, 2, 'an entry above the base cannot be read')
  wal.compact(base)
  scrub.repair()
  assert.match(notices[2] ?? '', /^repaired: log 0+2\.log is damaged at byte .*; the log was rewritten$/)
  assert.deepEqual(findings(wal, 1000), [])
  wal.append([write([command(12, 3)], hard(3, 1, 11))])
  wal.close()
  const again = openSmallWal(disk)
  assert.deepEqual(again.recovered.hardState, hard(3, 1, 11))
  assert.equal(again.recovered.lastIndex, lastIndex + 1)
  assert.deepEqual(
    contents(again).map(({ index }) => Number(index)),
    [11, 12],
  )
  assert.deepEqual({ ...hardState, commit: 0 }, { ...hard(3, 1, 0) })
})

void test('a damaged last vote is rewritten while the log is open', async () => {
  const { disk, wal, notices, wait, scrub } = bench()
  const name =
    disk
      .list()
      .filter((one) => segmentNumber(one) !== null)
      .toSorted()
      .at(-1) ?? ''
  const bytes = disk.contents(name)
  bytes.fill(
    0xee,
    bytes.findLastIndex((byte) => byte !== 0) - 400,
    bytes.findLastIndex((byte) => byte !== 0),
  )
  await wait(defaultLogLimits.scrubFirstMs + 10_000)
  const before = { ...wal.recovered.hardState }
  wal.compact({ ...base, index: logIndex(11), term: term(2) })
  scrub.repair()
  assert.match(notices.at(-1) ?? '', /^repaired: /)
  disk.crash()
  assert.deepEqual(openSmallWal(disk).recovered.hardState, before)
})
