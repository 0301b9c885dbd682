/*
 * Goal: the log is compacted only to indexes that the database reached, keeps what slow followers
 * and snapshots need, and never grows without bound.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyConfiguration, logIndex, term } from '../../../../raft/core/types.ts'
import type { Entry, SnapshotMeta } from '../../../../raft/core/types.ts'
import { CompactionPlanner } from '../../../../raft/driver/compaction-planner.ts'
import { LogBounds } from '../../../../raft/driver/log-bounds.ts'
import type { LogNeed } from '../../../../raft/driver/log-needs.ts'

function at(index: number): SnapshotMeta {
  return { index: logIndex(index), term: term(1), configuration: emptyConfiguration }
}

function planned(retentionEntries: number, retentionBytes: number, found = 0): CompactionPlanner {
  return new CompactionPlanner({ retentionEntries, retentionBytes }, at(0), found)
}

function need(from: number, stateBytes = 0): readonly LogNeed[] {
  return [{ from: logIndex(from), stateBytes }]
}

void test('nothing is compacted before the retention in entries or bytes is reached', () => {
  const planner = planned(100, 1000)
  planner.durable(at(50))
  planner.appended(999)
  assert.equal(planner.next(logIndex(149), []), null)
  assert.equal(planner.next(logIndex(150), [])?.index, 50)
  assert.equal(planner.next(logIndex(500), []), null, 'a point is used once')
})

void test('many bytes are compacted even if they are few entries', () => {
  const planner = planned(100, 1000)
  planner.durable(at(5))
  planner.appended(1000)
  assert.equal(planner.next(logIndex(6), [])?.index, 5)
})

void test('the latest point is used, but none above what a snapshot in progress needs', () => {
  const planner = planned(10, 1e9)
  for (const index of [10, 20, 30, 40]) planner.durable(at(index))
  assert.equal(planner.next(logIndex(45), need(25))?.index, 20)
  assert.equal(planner.next(logIndex(45), [])?.index, 30)
})

void test('the number of points stays small however long nothing is compacted', () => {
  const planner = planned(10, 1e9)
  for (let index = 1; index <= 100_000; index++) planner.durable(at(index))
  const cut = planner.next(logIndex(100_000), [])
  assert.ok(cut !== null && cut.index <= 99_990 && cut.index > 50_000)
})

function withPoints(): CompactionPlanner {
  const planner = planned(10, 1000)
  for (const index of [10, 20, 30, 40]) {
    planner.durable(at(index))
    planner.appended(1000)
  }
  return planner
}

void test('entries for followers in contact are kept while the log has less than four times the retention in bytes', () => {
  const planner = withPoints()
  const needs = need(25)
  assert.equal(planner.next(logIndex(60), needs)?.index, 20)
  assert.equal(planner.next(logIndex(60), needs), null, 'kept, although both retentions are exceeded')
  planner.appended(999)
  assert.equal(planner.next(logIndex(90), needs), null)
  planner.appended(1)
  assert.equal(planner.next(logIndex(90), needs)?.index, 30, 'at most four times')
  assert.equal(planner.next(logIndex(90), needs), null)
})

void test('a follower that continues from a snapshot finds as much log as the size of the snapshot', () => {
  const planner = withPoints()
  planner.appended(2000)
  assert.equal(planner.next(logIndex(90), need(5, 6001)), null)
  assert.equal(planner.next(logIndex(90), [...need(80), ...need(5, 6001)]), null)
  assert.equal(planner.next(logIndex(90), need(5, 6000))?.index, 20, 'the log is as large')
  assert.equal(planner.next(logIndex(90), need(5, 5001)), null)
  assert.equal(
    planner.next(logIndex(90), need(5, 100))?.index,
    40,
    'a slow snapshot does not block compaction',
  )
})

void test('a log that was replaced, or got another base, is measured from there on', () => {
  const planner = withPoints()
  planner.reset(at(50))
  planner.appended(3999)
  planner.durable(at(55))
  assert.equal(planner.next(logIndex(60), need(52)), null)
  const other = withPoints()
  other.beginsAfter(at(35))
  other.appended(1999)
  assert.equal(other.next(logIndex(60), need(36)), null)
  other.appended(1)
  assert.equal(other.next(logIndex(60), need(36))?.index, 40)
})

void test('without a state a log is compacted when it is full, and never beyond a database that follows', () => {
  const limits = { retentionEntries: 100, retentionBytes: 1e6 }
  const extent = new LogBounds(limits, { base: at(0), lastIndex: logIndex(0), bytes: 0 })
  const append = (from: number, to: number): void => {
    for (let index = from; index <= to; index++) {
      const data = new Uint8Array(10)
      extent.writing(null, [{ kind: 'command', index: logIndex(index), term: term(1), data }])
    }
  }
  append(1, 10)
  extent.durable(at(10))
  let longest = 0
  for (let index = 11; index <= 2000; index++) {
    append(index, index)
    const before = extent.base.index
    extent.compactAbandoned(at(index - 5), [])
    longest = Math.max(longest, index - before)
    if (index < 400) assert.equal(extent.base.index, 0, 'its first entry stays while the log is not full')
    assert.ok(index - 5 >= extent.base.index, 'uncommitted entries stay')
  }
  assert.equal(longest, 400)
  assert.ok(extent.base.index >= 1600)
  extent.compactAbandoned(at(1995), [])
  const state = extent.base.index + 20
  extent.beginAfter(at(state))
  append(2001, 2200)
  extent.durable(at(state + 30))
  assert.equal(extent.compact([])?.index, state + 30, 'not 1995, which no database holds')
})

void test('a full log without a state is not compacted beyond the snapshot that is being received', () => {
  const limits = { retentionEntries: 10, retentionBytes: 1000 }
  const extent = new LogBounds(limits, { base: at(0), lastIndex: logIndex(0), bytes: 0 })
  const step = (index: number, needs: readonly LogNeed[]): void => {
    const data = new Uint8Array(100)
    extent.writing(null, [{ kind: 'command', index: logIndex(index), term: term(1), data }])
    extent.compactAbandoned(at(index), needs)
  }
  for (let index = 1; index <= 60; index++) step(index, need(20, 1e6))
  assert.equal(extent.base.index, 20)
  for (let index = 61; index <= 100; index++) step(index, need(20, 100))
  assert.ok(extent.base.index > 20, 'a slow snapshot does not block compaction')
})

void test('many short runs without a compaction do not let the log grow without bound', () => {
  const limits = { retentionEntries: 100, retentionBytes: 1e6 }
  for (const [what, size] of [
    ['entries', 10],
    ['bytes', 20_000],
  ] as const) {
    let [base, lastIndex, bytes] = [at(0), logIndex(0), 0]
    for (let life = 0; life < 40; life++) {
      const extent = new LogBounds(limits, { base, lastIndex, bytes })
      for (let count = 0; count < 20; count++) {
        const data = new Uint8Array(size)
        const entry: Entry = { kind: 'command', index: logIndex(lastIndex + 1), term: term(1), data }
        extent.writing(null, [entry])
        lastIndex = entry.index
        extent.durable(at(lastIndex))
        if (extent.compact([]) !== null) base = extent.base
      }
      bytes = (lastIndex - base.index) * size
      assert.ok(
        lastIndex - base.index <= 4 * limits.retentionEntries,
        `${what}: life ${life}, ${lastIndex - base.index}`,
      )
      assert.ok(bytes <= 4 * limits.retentionBytes, `${what}: life ${life}, ${bytes}`)
    }
  }
})
