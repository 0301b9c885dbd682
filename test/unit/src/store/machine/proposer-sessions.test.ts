/*
 * Goal: outcomes are kept as long as they are needed, bounded, and the same after a restart.
 * Method: sessions compared with those loaded from their records.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../../base/random.ts'
import { logIndex } from '../../../../../raft/index.ts'
import type { Condition, Outcome } from '../../../../../src/store/command.ts'
import { DatabaseError } from '../../../../../src/store/store-errors.ts'
import { hashText, newHash } from '../../../../../src/store/machine/hash.ts'
import { Sessions } from '../../../../../src/store/machine/proposer-sessions.ts'
import { revision } from '../../../../../src/store/revision.ts'
import { configMapKey } from '../../../../../fixtures/store-kit.ts'

function sumOf(sessions: Sessions): string {
  const sum = newHash()
  sessions.addTo(sum)
  return hashText(sum)
}

const conditions: readonly Condition[] = [
  { kind: 'absent' },
  { kind: 'exists' },
  { kind: 'uid-is', uid: 'ü' },
  { kind: 'revision-is', revision: revision(2 ** 40) },
  { kind: 'namespace-active', namespace: 'n' },
  { kind: 'prefix-empty', prefixes: ['a/b/', 'c/d/'] },
  { kind: 'other-revision-is', key: configMapKey('ü'), revision: revision(2 ** 41) },
]
const outcomes: readonly Outcome[] = [
  { kind: 'nothing' },
  { kind: 'done', revisions: [] },
  { kind: 'done', revisions: [revision(1), revision(2 ** 50)] },
  ...conditions.map((condition, at): Outcome => ({
    kind: 'refused',
    operation: at,
    condition,
    current: revision(at),
  })),
  { kind: 'too-large', operation: 3, bytes: 2 ** 22, bytesMax: 2 ** 21 },
  { kind: 'over-quota', usedBytes: 2 ** 40, bytesMax: 2 ** 41 },
]

void test('an outcome is kept until its sequence is acknowledged', () => {
  const sessions = new Sessions()
  sessions.recordActivity(1, 1, logIndex(1))
  sessions.settle(1, 1, { kind: 'nothing' })
  assert.deepEqual(sessions.outcomeOf(1, 1), { kind: 'nothing' })
  assert.equal(sessions.outcomeOf(1, 2), null)
  assert.equal(sessions.outcomeOf(2, 1), null)
  sessions.settle(1, 2, { kind: 'nothing' })
  sessions.recordActivity(1, 2, logIndex(2))
  assert.equal(sessions.outcomeOf(1, 1), 'settled')
  assert.deepEqual(sessions.outcomeOf(1, 2), { kind: 'nothing' }, 'not acknowledged yet')
  sessions.recordActivity(1, 1, logIndex(3))
  assert.equal(sessions.outcomeOf(1, 1), 'settled')
})

void test('only sessions that are idle for long are removed, with their outcomes', () => {
  const sessions = new Sessions()
  for (const [session, index] of [
    [1, 10],
    [2, 20],
    [3, 30],
  ] as const) {
    sessions.recordActivity(session, 1, logIndex(index))
    sessions.settle(session, 1, { kind: 'nothing' })
  }
  assert.equal(sessions.expire(20), 1)
  assert.deepEqual(
    [1, 2, 3].map((session) => sessions.outcomeOf(session, 1)),
    [null, { kind: 'nothing' }, { kind: 'nothing' }],
  )
  assert.equal(sessions.oldestIndex, 20)
})

void test('every kind of outcome reads back from its record', () => {
  const sessions = new Sessions()
  sessions.recordActivity(5, 3, logIndex(9))
  outcomes.forEach((outcome, at) => sessions.settle(5, at + 3, outcome))
  const loaded = new Sessions()
  for (const [id, record] of sessions.takeChanges()) loaded.load(id, record ?? assert.fail())
  outcomes.forEach((outcome, at) => assert.deepEqual(loaded.outcomeOf(5, at + 3), outcome))
  assert.equal(loaded.outcomeOf(5, 2), 'settled')
  assert.equal(sumOf(loaded), sumOf(sessions))
})

void test('records that follow the changes give the same sum, whatever happened in between', () => {
  const random = new SeededRandom(3)
  const sessions = new Sessions()
  const records = new Map<number, Uint8Array>()
  for (let at = 1; at <= 3000; at++) {
    const id = 1 + random.below(6)
    const index = logIndex(at)
    sessions.recordActivity(id, Math.max(1, at - random.below(50)), index)
    if (random.chance(0.8)) sessions.settle(id, at, random.pick(outcomes))
    if (random.chance(0.01)) sessions.expire(at - random.below(20))
    if (random.chance(0.1)) sumOf(sessions)
    if (!random.chance(0.1)) continue
    for (const [changed, record] of sessions.takeChanges()) {
      if (record === null) records.delete(changed)
      else records.set(changed, record)
    }
    const loaded = new Sessions()
    for (const [stored, record] of records) loaded.load(stored, record)
    assert.equal(sumOf(loaded), sumOf(sessions))
    assert.equal(loaded.size, sessions.size)
  }
})

void test('when there are too many sessions, the one idle for longest is removed', () => {
  const sessions = new Sessions()
  for (let id = 1; id <= 4097; id++) {
    sessions.recordActivity(id, 1, logIndex(id))
    sessions.settle(id, 1, { kind: 'nothing' })
  }
  assert.equal(sessions.size, 4096)
  assert.equal(sessions.outcomeOf(1, 1), null)
  assert.deepEqual(sessions.outcomeOf(2, 1), { kind: 'nothing' })
})

void test('a damaged record, or that of another session, is refused', () => {
  const sessions = new Sessions()
  sessions.recordActivity(5, 1, logIndex(1))
  sessions.settle(5, 1, { kind: 'done', revisions: [revision(4)] })
  const record = sessions.takeChanges().get(5) ?? assert.fail()
  for (let at = 0; at < record.byteLength; at++) {
    const damaged = Uint8Array.from(record)
    damaged[at] = (damaged[at] ?? 0) ^ 1
    assert.throws(() => new Sessions().load(5, damaged), DatabaseError, `byte ${at}`)
  }
  assert.throws(() => new Sessions().load(6, record), DatabaseError)
  assert.throws(() => new Sessions().load(5, record.subarray(0, 10)), DatabaseError)
})
