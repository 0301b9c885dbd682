/*
 * Goal: of whom a state was copied from, no more is forgotten than was proven, however many copies follow one another.
 * Method: descents made up, joined, and through their record and back.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { logIndex, nodeId } from '../../../../raft/index.ts'
import type { LogIndex, NodeId } from '../../../../raft/index.ts'
import { reportStretchesMax } from '../../../../src/cluster/member-report.ts'
import { descentOfCopy, descentStretchesMax, provenUpTo } from '../../../../src/store/descent.ts'
import type { Descent } from '../../../../src/store/descent.ts'
import { decodeDescent, encodeDescent } from '../../../../src/store/disk/descent-record.ts'

function stretch(by: number | null, after: number, upTo: number) {
  return { by: by === null ? null : nodeId(by), after: logIndex(after), upTo: logIndex(upTo) }
}

function copyOf(own: Descent, self: number, index: number, proven = 0): Descent {
  const made: { self: NodeId; proven: LogIndex; index: LogIndex } = {
    self: nodeId(self),
    proven: logIndex(proven),
    index: logIndex(index),
  }
  return descentOfCopy(own, made)
}

void test('a copy descends from its original, as far as that is not proven', () => {
  assert.deepEqual(copyOf([], 1, 100), [stretch(1, 0, 100)])
  assert.deepEqual(copyOf([], 1, 100, 60), [stretch(1, 60, 100)])
  assert.deepEqual(copyOf([], 1, 100, 100), [])
  assert.deepEqual(copyOf([stretch(1, 0, 100)], 2, 150), [stretch(1, 0, 100), stretch(2, 100, 150)])
  assert.deepEqual(copyOf([stretch(1, 0, 100)], 2, 150, 70), [stretch(1, 70, 100), stretch(2, 100, 150)])
  assert.deepEqual(copyOf([stretch(1, 0, 100)], 2, 150, 120), [stretch(2, 120, 150)])
})

void test('what is proven is forgotten, and nothing else', () => {
  const descent = [stretch(1, 10, 100), stretch(2, 100, 150)]
  assert.equal(provenUpTo(descent, logIndex(10)), descent)
  assert.deepEqual(provenUpTo(descent, logIndex(30)), [stretch(1, 30, 100), stretch(2, 100, 150)])
  assert.deepEqual(provenUpTo(descent, logIndex(100)), [stretch(2, 100, 150)])
  assert.deepEqual(provenUpTo(descent, logIndex(150)), [])
})

void test('of more copies than there is room for, the oldest lose their names and not their extent', () => {
  let descent: Descent = []
  for (let by = 1; by <= 11; by++) descent = copyOf(descent, by, 10 * by)
  assert.equal(descent.length, descentStretchesMax)
  assert.deepEqual(descent[0], stretch(null, 0, 40))
  assert.deepEqual(descent.at(-1), stretch(11, 100, 110))
  assert.deepEqual(decodeDescent(encodeDescent(descent)), descent)
  assert.equal(descentStretchesMax, reportStretchesMax, 'all of it can be told')
})

void test('a record that changed is refused', () => {
  const record = encodeDescent([stretch(2, 5, 9)])
  for (let at = 0; at < record.length; at++) {
    const changed = Uint8Array.from(record)
    changed[at] = (changed[at] ?? 0) ^ 4
    assert.throws(() => decodeDescent(changed), { name: 'StorageFailure', code: 'damaged' }, `byte ${at}`)
  }
  assert.throws(() => decodeDescent(record.subarray(0, -1)), { code: 'damaged' })
})
