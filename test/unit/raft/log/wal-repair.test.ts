/*
 * Goal: a damaged log is opened as it was, repaired to what it held, or refused; a vote or an entry
 * is never lost silently.
 * Method: one small log of several segments on a simulated disk, bytes changed one at a time; each
 * opened without further data, with the metadata of a database, and with the entries of a peer;
 * repairs are interrupted at every step.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { logIndex, term } from '../../../../raft/core/types.ts'
import type { Entry, LogIndex, SnapshotMeta } from '../../../../raft/core/types.ts'
import { LogError } from '../../../../raft/log/errors.ts'
import { sectorBytes, segmentNumber } from '../../../../raft/log/layout.ts'
import { Wal } from '../../../../raft/log/wal.ts'
import { RepairableLog } from '../../../../raft/log/repairable-log.ts'
import { command, commands, configurationOf, contents, hard, write } from '../../../conformance/log-store.ts'
import { SimulatedCrash, SimulatedDisk } from '../../../simulation/disk.ts'
import { everyVariant } from '../../../support/fixtures/variants.ts'
import { openSmallWal, smallLog, smallWalOptions, spoiled } from './small-log.ts'

/** Data that is available for a repair. */
type Help = { readonly covered: SnapshotMeta | null; readonly peer: readonly Entry[] }

type Verdict = 'whole' | 'repaired' | 'refused'

/** Returns everything that a log has to keep above the base that it may begin with. */
function promisesOf(wal: Wal, above: LogIndex): unknown {
  const { hardState, lastIndex, lastTerm, termRuns, configurations } = wal.recovered
  const entries = contents(wal).filter(({ index }) => index > above)
  const runs = termRuns.map((run) => ({ ...run, first: Math.max(run.first, above + 1) }))
  return { hardState, lastIndex, lastTerm, entries, configurations, lastRun: runs.at(-1) }
}

function openWith(disk: SimulatedDisk, help: Help): Wal {
  const { covered } = help
  const options = smallWalOptions(disk)
  const opened = Wal.openOrSalvage(options)
  if (opened instanceof Wal) return opened
  return Wal.openRepaired(options, opened, { covered, entries: fetchedFor(opened, help) })
}

function judge(disk: SimulatedDisk, help: Help, whole: Wal, what: string): Verdict {
  const steps = disk.steps
  let wal: Wal
  try {
    wal = openWith(disk, help)
  } catch (cause) {
    assert.ok(cause instanceof LogError, `${what}: ${String(cause)}`)
    assert.doesNotMatch(cause.message, /\n/)
    assert.equal(disk.steps, steps, `${what}: can be written to`)
    return 'refused'
  }
  const { base, repaired } = wal.recovered
  const expectedBase = Math.max(whole.recovered.base.index, help.covered?.index ?? 0)
  assert.ok(base.index <= expectedBase, `${what}: begins at ${base.index}`)
  assert.deepEqual(promisesOf(wal, base.index), promisesOf(whole, base.index), what)
  wal.close()
  // A repaired log is an ordinary log.
  const again = openSmallWal(disk)
  assert.equal(again.recovered.repaired, null, what)
  assert.deepEqual(promisesOf(again, base.index), promisesOf(whole, base.index), what)
  return repaired === null ? 'whole' : 'repaired'
}

function metaAt(index: number, at: number): SnapshotMeta {
  return { index: logIndex(index), term: term(at), configuration: configurationOf(1, 2, 7) }
}

type Damage = { readonly what: string; readonly disk: SimulatedDisk }

type Tally = Record<Verdict, number>

function tallyOf(damages: Iterable<Damage>, help: (whole: Wal, at: number) => Help, whole: Wal): Tally {
  const counts = { whole: 0, repaired: 0, refused: 0 }
  let at = 0
  for (const { disk, what } of damages) counts[judge(disk, help(whole, at++), whole, what)]++
  return counts
}

const helpers: Readonly<Record<string, (whole: Wal) => Help>> = {
  none: () => ({ covered: null, peer: [] }),
  database: () => ({ covered: metaAt(10, 1), peer: [] }),
  peer: (whole) => ({ covered: null, peer: contents(whole) }),
  both: (whole) => ({ covered: metaAt(4, 1), peer: contents(whole) }),
}

/** @param every the average distance of two changed bytes */
function* changedBytes(disk: SimulatedDisk, every: number, seed: number): Generator<Damage> {
  const random = new SeededRandom(seed)
  for (const name of disk.list()) {
    for (
      let at = random.below(every);
      at < disk.contents(name).length;
      at += 1 + random.below(2 * every - 1)
    ) {
      const byte = disk.contents(name)[at] ?? 0
      const mask = byte === 0 ? 1 + random.below(255) : random.pick([byte, 1 << random.below(8)])
      const change = (bytes: Uint8Array): Uint8Array => {
        bytes[at] = byte ^ mask
        return bytes
      }
      yield { what: `${name} at ${at} changed by ${mask}`, disk: spoiled(disk, name, change) }
    }
  }
}

function wholeOf(disk: SimulatedDisk): Wal {
  return openSmallWal(disk.copy(new SeededRandom(3)))
}

for (const end of ['closed', 'killed'] as const) {
  const disk = smallLog(end)
  const whole = wholeOf(disk)

  void test(`${end}: a log with any byte changed is intact, repaired or refused`, () => {
    const all = Object.values(helpers)
    // About every fifth byte of a closed log (in `long/variants` every second one), and every 17th
    // of a killed one, with one kind of help; some with each kind.
    const counts = tallyOf(
      changedBytes(disk, end === 'closed' ? (everyVariant ? 2 : 5) : 17, 5),
      (_, at) => (all[at % all.length] ?? assert.fail())(whole),
      whole,
    )
    console.log(`# ${end}, changed bytes: ${JSON.stringify(counts)}`)
    const refused: Record<string, number> = {}
    for (const [helper, help] of Object.entries(helpers)) {
      const some = tallyOf(changedBytes(disk, 61, 6), help, whole)
      console.log(`# ${end}, every 61st byte, helped by ${helper}: ${JSON.stringify(some)}`)
      refused[helper] = some.refused
    }
    const most = refused['none'] ?? 0
    for (const helper of ['database', 'peer', 'both']) assert.ok((refused[helper] ?? most) < most / 3, helper)
  })

  void test(`${end}: a log with zeroed, duplicated or exchanged sectors is intact, repaired or refused`, () => {
    const random = new SeededRandom(9)
    const counts = { whole: 0, repaired: 0, refused: 0 }
    for (let round = 0; round < 250; round++) {
      const name = random.pick(segmentsOf(disk))
      // The original content of the newest group of a killed log cannot be known.
      const bytes = disk.contents(name)
      const used = bytes.findLastIndex((byte) => byte !== 0) + 1
      const sectors = used / sectorBytes - (name === segmentsOf(disk).at(-1) ? 4 : 0)
      const [to, from, length] = [random.below(sectors), random.below(sectors + 4) - 4, 1 + random.below(3)]
      const both = random.chance(0.5)
      const what = `${name}: ${length} sectors at ${from} ${both ? 'exchanged with' : 'over'} those at ${to}`
      const damagedDisk = spoiled(disk, name, (target) => {
        for (let at = 0; at < length && Math.max(to, from) + at < sectors; at++) {
          const one = sectorOf(bytes, from < 0 ? -1 : from + at)
          target.set(one, (to + at) * sectorBytes)
          if (both && from >= 0) target.set(sectorOf(bytes, to + at), (from + at) * sectorBytes)
        }
        return target
      })
      const help = random.pick(Object.values(helpers))(whole)
      counts[judge(damagedDisk, help, whole, what)]++
    }
    console.log(`# ${end}, sectors: ${JSON.stringify(counts)}`)
    assert.ok(counts.repaired > 40 && counts.refused > 20, JSON.stringify(counts))
  })
}

function segmentsOf(disk: SimulatedDisk): readonly string[] {
  return disk
    .list()
    .filter((name) => segmentNumber(name) !== null)
    .toSorted()
}

function sectorOf(bytes: Uint8Array, at: number): Uint8Array {
  return at < 0 ? new Uint8Array(sectorBytes) : bytes.slice(at * sectorBytes, (at + 1) * sectorBytes)
}

/** One damaged place in the middle of the log. */
function damagedInTheMiddle(): SimulatedDisk {
  const disk = smallLog('closed')
  const name = segmentsOf(disk)[1] ?? assert.fail('a second segment')
  return spoiled(disk, name, (bytes) => bytes.fill(0xee, 1100, 1200))
}

void test('a repair that is interrupted at any step leaves the damaged log or the repaired one', () => {
  const whole = wholeOf(smallLog('closed'))
  const help = { covered: metaAt(6, 1), peer: contents(whole) }
  let repairedAtOnce = 0
  for (let step = 0; ; step++) {
    for (const end of ['power', 'process'] as const) {
      const disk = damagedInTheMiddle().copy(new SeededRandom(step))
      disk.crashAfter(step)
      let crashed = false
      try {
        openWith(disk, help)
      } catch (cause) {
        if (!(cause instanceof SimulatedCrash)) throw cause
        crashed = true
      }
      if (!crashed) {
        assert.ok(step > 6, `${step} steps`)
        return
      }
      if (end === 'power') disk.crash()
      else disk.kill()
      const opened = Wal.openOrSalvage(smallWalOptions(disk))
      if (opened instanceof Wal) repairedAtOnce++
      const wal =
        opened instanceof Wal
          ? opened
          : Wal.openRepaired(smallWalOptions(disk), opened, {
              covered: help.covered,
              entries: fetchedFor(opened, help),
            })
      const { base } = wal.recovered
      assert.deepEqual(promisesOf(wal, base.index), promisesOf(whole, base.index), `step ${step}, ${end}`)
      wal.close()
      assert.ok(!disk.list().some((name) => name.endsWith('.new')), 'no temporary file is left')
      assert.equal(segmentsOf(disk).length, 1, 'the old segments are removed')
    }
    assert.ok(step < 100 || repairedAtOnce > 0)
  }
})

void test('a damaged log that lost its newest segment is refused, whatever data is available', () => {
  const disk = smallLog('killed')
  const whole = wholeOf(disk)
  const [first = '', ...later] = segmentsOf(disk)
  const damagedDisk = spoiled(disk, first, (bytes) => bytes.fill(0xee, 1100, 1200))
  assert.equal(
    judge(
      damagedDisk.copy(new SeededRandom(4)),
      helpers['both']?.(whole) ?? assert.fail(),
      whole,
      'all segments',
    ),
    'repaired',
  )
  damagedDisk.remove(later.at(-1) ?? '')
  for (const help of Object.values(helpers))
    assert.equal(judge(damagedDisk, help(whole), whole, 'without the newest'), 'refused')
})

void test('a log whose last vote is damaged is refused, whatever data is available', () => {
  const disk = smallLog('killed')
  const name = segmentsOf(disk).at(-1) ?? ''
  const end = disk.contents(name).findLastIndex((byte) => byte !== 0) + 1
  const whole = wholeOf(disk)
  for (let at = 1; at <= 4; at++) {
    const damagedDisk = spoiled(disk, name, (bytes) => bytes.fill(0xee, end - at * sectorBytes, end))
    for (const help of Object.values(helpers))
      assert.equal(judge(damagedDisk, help(whole), whole, `${at}`), 'refused')
  }
})

void test('entries that the damage may have replaced are not used from this disk', () => {
  const disk = new SimulatedDisk(new SeededRandom(1))
  const wal = openSmallWal(disk)
  wal.append([write(commands(1, 5, 1), hard(1, 2, 2))])
  wal.append([write(commands(4, 6, 2), hard(2, null, 2))])
  wal.append([write(commands(7, 7, 2), hard(2, null, 6))])
  const right = wal.read(logIndex(1), logIndex(7), Infinity)
  const name = segmentsOf(disk)[0] ?? ''
  const damagedDisk = spoiled(disk, name, (bytes) => {
    const text = Buffer.from(bytes).indexOf('command 4 of term 2')
    bytes[text] = 0x43
    return bytes
  })
  const opened = Wal.openOrSalvage(smallWalOptions(damagedDisk))
  assert.ok(opened instanceof RepairableLog)
  const plan = opened.plan(null)
  assert.ok(plan.kind === 'fetch')
  assert.equal(plan.first, 3, 'only committed entries are known')
  assert.deepEqual(opened.plan(metaAt(5, 2)), { ...plan, base: metaAt(5, 2), first: 6 })
  assert.equal(opened.plan(metaAt(6, 2)).kind, 'rewrite')
  assert.equal(opened.plan(metaAt(8, 2)).kind, 'refuse')
  const entries = right.filter(({ index }) => index >= 3)
  const again = Wal.openRepaired(smallWalOptions(damagedDisk), opened, { covered: null, entries })
  assert.deepEqual(contents(again), right)
})

void test('a copy of an older vote in the place of the newest one is refused', () => {
  const disk = new SimulatedDisk(new SeededRandom(1))
  const wal = openSmallWal(disk)
  for (let at = 1; at <= 5; at++) wal.append([write([command(at, 1)], hard(at, 2, at - 1))])
  const name = segmentsOf(disk)[0] ?? ''
  const end = disk.contents(name).findLastIndex((byte) => byte !== 0) + 1
  const damagedDisk = spoiled(disk, name, (bytes) =>
    bytes.copyWithin(end - sectorBytes, end - 2 * sectorBytes, end - sectorBytes),
  )
  for (const help of Object.values(helpers))
    assert.equal(judge(damagedDisk, help(wal), wal, 'a copy'), 'refused')
})

void test('a log write in the data of a client is not mistaken for one of the log', () => {
  const disk = new SimulatedDisk(new SeededRandom(1))
  const wal = openSmallWal(disk)
  wal.append([write([command(1, 1)], hard(1, 2, 0))])
  // A write of a diverged copy of this log, with a vote that was never cast, is contained in the
  // data of the next entry.
  const forgedDisk = disk.copy(new SeededRandom(2))
  const forged = openSmallWal(forgedDisk)
  forged.append([write([command(2, 1)], hard(1, 2, 1))])
  forged.append([write([], hard(9, 9, 1))])
  const name = segmentsOf(disk)[0] ?? ''
  const start = disk.contents(name).findLastIndex((byte) => byte !== 0) + 1
  // The offset in its group that aligns the copy with a sector.
  const lead = sectorBytes - 48 - 12 - 16
  const data = new Uint8Array(lead + 3 * sectorBytes)
  const used = forgedDisk.contents(name).findLastIndex((byte) => byte !== 0) + 1
  data.set(forgedDisk.contents(name).slice(used - sectorBytes, used), lead)
  wal.append([write([{ index: logIndex(2), term: term(1), kind: 'command', data }], null)])
  const damagedDisk = spoiled(disk, name, (bytes) => bytes.fill(0xee, start, start + 8))
  assert.throws(() => Wal.openOrSalvage(smallWalOptions(damagedDisk)), LogError)
})

void test('entries of a peer that do not belong to this log are refused', () => {
  const disk = damagedInTheMiddle()
  const opened = Wal.openOrSalvage(smallWalOptions(disk))
  assert.ok(opened instanceof RepairableLog)
  const plan = opened.plan(null)
  assert.ok(plan.kind === 'fetch')
  const right = contents(wholeOf(smallLog('closed'))).filter(
    ({ index }) => index >= plan.first && index <= opened.damage.anchor.index,
  )
  const wrong: readonly (readonly Entry[])[] = [
    [],
    right.slice(1),
    right.slice(0, -1),
    right.map((entry) => ({ ...entry, term: term(2) })),
    right.map((entry, at) => (at === 0 ? { ...entry, term: term(7) } : entry)),
    right.map((entry) => ({ ...entry, index: logIndex(entry.index + 1) })),
  ]
  const { steps } = disk
  for (const entries of wrong) {
    assert.throws(
      () => opened.repair({ covered: null, entries }),
      /cannot be repaired, as .*must be replaced/,
    )
  }
  assert.equal(disk.steps, steps)
  assert.match(
    opened.repair({ covered: null, entries: right }),
    /^repaired: log 0+2.log is damaged at byte \d+/,
  )
})

function fetchedFor(opened: RepairableLog, { covered, peer }: Help): readonly Entry[] {
  const plan = opened.plan(covered)
  if (plan.kind !== 'fetch') return []
  return peer.filter(({ index }) => index >= plan.first && index <= opened.damage.anchor.index)
}
