/* Goal: the log is cut only where the database was, and keeps what slow followers and snapshots need. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { emptyConfiguration, logIndex, term } from '../../../../raft/core/types.ts'
import type { SnapshotMeta } from '../../../../raft/core/types.ts'
import { CutPlanner } from '../../../../raft/node/cut-planner.ts'

const nobody = { streams: null, followers: null }

function at(index: number): SnapshotMeta {
  return { index: logIndex(index), term: term(1), configuration: emptyConfiguration }
}

void test('nothing is cut while the retention in entries and in bytes is not reached', () => {
  const planner = new CutPlanner({ retentionEntries: 100, retentionBytes: 1000 })
  planner.durable(at(50))
  planner.appended(999)
  assert.equal(planner.next(logIndex(149), nobody), null)
  assert.equal(planner.next(logIndex(150), nobody)?.index, 50)
  assert.equal(planner.next(logIndex(500), nobody), null, 'a point is used once')
})

void test('many bytes are cut even when they are few entries', () => {
  const planner = new CutPlanner({ retentionEntries: 100, retentionBytes: 1000 })
  planner.durable(at(5))
  planner.appended(1000)
  assert.equal(planner.next(logIndex(6), nobody)?.index, 5)
})

void test('the latest point is taken, though none above what a snapshot under way needs', () => {
  const planner = new CutPlanner({ retentionEntries: 10, retentionBytes: 1e9 })
  for (const index of [10, 20, 30, 40]) planner.durable(at(index))
  assert.equal(planner.next(logIndex(45), { streams: logIndex(25), followers: null })?.index, 20)
  assert.equal(planner.next(logIndex(45), nobody)?.index, 30)
})

void test('points stay few however long nothing is cut', () => {
  const planner = new CutPlanner({ retentionEntries: 10, retentionBytes: 1e9 })
  for (let index = 1; index <= 100_000; index++) planner.durable(at(index))
  const cut = planner.next(logIndex(100_000), nobody)
  assert.ok(cut !== null && cut.index <= 99_990 && cut.index > 50_000)
})

void test('followers in touch find what they need, up to four times the retention in bytes', () => {
  const planner = new CutPlanner({ retentionEntries: 10, retentionBytes: 1000 })
  for (const index of [10, 20, 30, 40]) {
    planner.durable(at(index))
    planner.appended(1000)
  }
  const needs = { streams: null, followers: logIndex(25) }
  assert.equal(planner.next(logIndex(60), needs)?.index, 20)
  assert.equal(planner.next(logIndex(60), needs), null, 'kept, though it is behind both retentions')
  planner.appended(1999)
  assert.equal(planner.next(logIndex(90), needs), null)
  planner.appended(1)
  assert.equal(planner.next(logIndex(90), needs)?.index, 30, 'no more than four times')
})

void test('what a state under way needs is kept however much it is', () => {
  const planner = new CutPlanner({ retentionEntries: 10, retentionBytes: 1000 })
  planner.durable(at(10))
  planner.appended(1_000_000)
  assert.equal(planner.next(logIndex(1_000), { streams: logIndex(5), followers: null }), null)
})
