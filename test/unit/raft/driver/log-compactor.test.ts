/*
 * Goal: a forced compaction removes exactly what the database holds, and waits for followers that
 * need the log, and for repairs.
 * Method: the shipped compactor and bounds, with a core and a log that record the calls.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logIndex, term } from '../../../../raft/core/types.ts'
import type { SnapshotMeta } from '../../../../raft/core/types.ts'
import { LogBounds } from '../../../../raft/driver/log-bounds.ts'
import { LogCompactor } from '../../../../raft/driver/log-compactor.ts'
import { commands, meta } from '../../../conformance/log-store.ts'

function started() {
  const bounds = new LogBounds(
    { retentionEntries: 1000, retentionBytes: 1024 * 1024 },
    { base: meta(0, 0, 1), lastIndex: logIndex(0), bytes: 0 },
  )
  const calls: string[] = []
  const note = (what: string) => (base: SnapshotMeta) => void calls.push(`${what} ${base.index}`)
  const compactor = new LogCompactor({
    core: {
      compact: note('core'),
      applied: () => undefined,
      status: () => assert.fail('it is not asked'),
      durablyCommitted: { index: logIndex(8), term: term(1), configuration: meta(8, 1, 1).configuration },
    },
    bounds,
    compact: note('log'),
    install: () => undefined,
  })
  bounds.writing(null, commands(1, 10, 1))
  bounds.durable(meta(5, 1, 1))
  return { bounds, calls, compactor }
}

const need = (from: number) => ({ from: logIndex(from), stateBytes: 0 })

void test('a forced compaction ignores the retention, and removes only what the database holds', () => {
  const { bounds, calls, compactor } = started()
  compactor.durable([])
  assert.deepEqual(calls, [], 'the retention keeps all of it')
  assert.equal(compactor.compactThrough(logIndex(6), []), false, 'the database does not hold it')
  assert.equal(compactor.compactThrough(logIndex(5), [need(5), need(9)]), true)
  assert.deepEqual(calls, ['core 5', 'log 5'])
  assert.equal(bounds.base.index, 5)
  assert.equal(compactor.compactThrough(logIndex(5), []), true)
  assert.equal(calls.length, 2, 'nothing more is to be compacted')
})

void test('a forced compaction waits for a follower that needs entries, and for repairs', () => {
  const { calls, compactor } = started()
  assert.equal(compactor.compactThrough(logIndex(5), [need(3)]), false)
  compactor.stateQuarantined()
  assert.equal(compactor.compactThrough(logIndex(5), []), false)
  assert.deepEqual(calls, [])
  compactor.stateInstalled()
  assert.equal(compactor.compactThrough(logIndex(5), []), true)
})
