/* Goal: the log is cut only where the database was, and keeps what slow followers and snapshots need. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyConfiguration, logIndex, term } from '../../../../raft/core/types.ts'
import type { SnapshotMeta } from '../../../../raft/core/types.ts'
import { CutPlanner } from '../../../../raft/node/cut-planner.ts'

function at(index: number): SnapshotMeta {
  return { index: logIndex(index), term: term(1), configuration: emptyConfiguration }
}

void test('nothing is cut while the retention in entries and in bytes is not reached', () => {
  const planner = new CutPlanner({ retentionEntries: 100, retentionBytes: 1000 })
  planner.durable(at(50))
  planner.appended(999)
  assert.equal(planner.next(logIndex(149), null), null)
  assert.equal(planner.next(logIndex(150), null)?.index, 50)
  assert.equal(planner.next(logIndex(500), null), null, 'a point is used once')
})

void test('many bytes are cut even when they are few entries', () => {
  const planner = new CutPlanner({ retentionEntries: 100, retentionBytes: 1000 })
  planner.durable(at(5))
  planner.appended(1000)
  assert.equal(planner.next(logIndex(6), null)?.index, 5)
})

void test('the latest point is taken, though none above what a snapshot under way needs', () => {
  const planner = new CutPlanner({ retentionEntries: 10, retentionBytes: 1e9 })
  for (const index of [10, 20, 30, 40]) planner.durable(at(index))
  assert.equal(planner.next(logIndex(45), logIndex(25))?.index, 20)
  assert.equal(planner.next(logIndex(45), null)?.index, 30)
})

void test('points stay few however long nothing is cut', () => {
  const planner = new CutPlanner({ retentionEntries: 10, retentionBytes: 1e9 })
  for (let index = 1; index <= 100_000; index++) planner.durable(at(index))
  const cut = planner.next(logIndex(100_000), null)
  assert.ok(cut !== null && cut.index <= 99_990 && cut.index > 50_000)
})
