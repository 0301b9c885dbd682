/*
 * Goal: linearizability of each object is checked from the responses of clients, and an anomaly is
 * reported with its kind and a minimal history.
 * Method: histories by hand, valid ones and the same with one response changed; random ones of a
 * correct register, with one response changed.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { checkObjects } from '../../../../tools/verify/checks/objects.ts'
import { linearizable } from '../../../../tools/verify/linearizability.ts'
import type { RegisterCall, State } from '../../../../tools/verify/linearizability.ts'
import { minimizeCalls } from '../../../../tools/verify/minimize-calls.ts'
import { HistoryScript, expectedOf, kindsOf } from './history-script.ts'

const verdictOf = (script: HistoryScript): string => checkObjects(script.index()).verdict
const check = (script: HistoryScript): readonly string[] => kindsOf(checkObjects(script.index()))

void test('a read returns the last write', () => {
  const good = new HistoryScript()
    .create('a@5')
    .get('a@5')
    .update('a@6', 'a@5')
    .get('a@6')
    .delete('a')
    .missing('a')
  assert.equal(verdictOf(good), 'ok')
  assert.equal(verdictOf(new HistoryScript()), 'no-data')
})

void test('a read of a replaced version is a stale read', () => {
  const script = new HistoryScript().create('a@5').update('a@6', 'a@5').get('a@6').get('a@5')
  assert.deepEqual(check(script), ['stale-read'])
})

void test('most recent lists are reads of every object', () => {
  const script = new HistoryScript().create('a@5').create('b@6').get('b@6')
  assert.deepEqual(check(script.list(6, ['a@5', 'b@6'])), [])
  assert.deepEqual(check(script.list(7, ['a@5'])), ['stale-read'])
})

void test('a first page proves nothing about objects after its end', () => {
  const script = new HistoryScript().create('a@5').create('b@6')
  assert.deepEqual(check(script.pages([{ revision: 6, shown: ['a@5'], left: 1 }])), [])
})

void test('an acknowledged write that no read returns is lost', () => {
  const script = new HistoryScript().create('a@5').get('a@5').update('a@6', 'a@5').get('a@5')
  assert.deepEqual(check(script), ['lost-write'])
  assert.deepEqual(check(new HistoryScript().create('a@5').missing('a')), ['lost-write'])
})

void test('a deletion that no read reflects is lost', () => {
  const script = new HistoryScript()
    .create('a@5')
    .get('a@5')
    .delete('a')
    .watch(4, [['ADDED', 'a@5']])
    .get('a@5')
  assert.deepEqual(check(script), ['lost-write'])
})

void test('of two conditional writes on one version only one may succeed', () => {
  const script = new HistoryScript()
    .create('a@5')
    .update('a@6', 'a@5')
    .get('a@6')
    .update('a@7', 'a@5')
    .get('a@7')
  assert.deepEqual(check(script), ['lost-update'])
})

void test('a refusal has to be explained, too', () => {
  const refusal = { kind: 'create', name: 'a', token: 'x' } as const
  assert.deepEqual(check(new HistoryScript().create('a@5').refused(refusal, 'AlreadyExists')), [])
  assert.deepEqual(check(new HistoryScript().refused(refusal, 'AlreadyExists').create('a@5')), [
    'not-linearizable',
  ])
  const conflict = { kind: 'update', name: 'a', token: 'x', expected: expectedOf('a@5') } as const
  assert.deepEqual(check(new HistoryScript().create('a@5').refused(conflict, 'Conflict').get('a@5')), [
    'not-linearizable',
  ])
})

void test('a write without an answer may take effect, once, at any later time', () => {
  const lost = { kind: 'update', name: 'a', token: 'x', expected: null } as const
  const script = (): HistoryScript => new HistoryScript().create('a@5').unknown(lost).get('a@5')
  assert.deepEqual(check(script()), [])
  assert.deepEqual(check(script().get('a@9=x')), [])
  assert.deepEqual(check(script().get('a@9=x').get('a@5')), ['stale-read'])
  assert.deepEqual(
    check(
      script()
        .watch(5, [['MODIFIED', 'a@9=x']])
        .get('a@5'),
    ),
    ['stale-read'],
    'a watch returned it',
  )
})

void test('the history reported with an anomaly is minimal', () => {
  const script = new HistoryScript().create('a@1')
  for (let revision = 2; revision <= 40; revision++) {
    script.update(`a@${revision}`, `a@${revision - 1}`).get(`a@${revision}`)
  }
  script.get('a@38').get('a@40')
  const [anomaly] = checkObjects(script.index()).anomalies
  assert.equal(anomaly?.kind, 'stale-read')
  const reported = anomaly.witnesses.map(({ text }) => text.replace(/.*\]: /, ''))
  assert.equal(reported.length, 3, reported.join('\n'))
  assert.match(reported[0] ?? '', /to write a38 -> /)
  assert.match(reported[2] ?? '', /^get a, most recent -> a version 38 /)
})

void test('a valid history is accepted, and an invalid one stays invalid when it is minimized', () => {
  let invalid = 0
  for (let seed = 1; seed <= 60; seed++) {
    const random = new SeededRandom(seed)
    const calls = rightCalls(random, 25)
    assert.equal(linearizable(calls, 100_000).kind, 'linearizable', `seed ${seed}`)
    // One changed response may make it invalid. If it is that of a read, the minimal history
    // contains it.
    const at = random.below(calls.length)
    const lie = calls.map((call, index): RegisterCall =>
      index === at
        ? { ...call, effect: { kind: 'saw', state: { kind: 'is', state: 'w1' } }, label: 'lie' }
        : call,
    )
    if (linearizable(lie, 100_000).kind !== 'not-linearizable') continue
    invalid++
    const left = minimizeCalls(lie)
    assert.equal(linearizable(left, 100_000).kind, 'not-linearizable')
    assert.ok(left.length <= lie.length)
    assert.ok(
      left.some(({ label }) => label === 'lie') || calls[at]?.effect.kind !== 'saw',
      `seed ${seed}: the changed answer is part of it`,
    )
  }
  assert.ok(invalid > 20, `${invalid} of 60 were invalid`)
})

/** Returns calls of a correct register. Each takes effect between its begin and its end. */
function rightCalls(random: SeededRandom, length: number): RegisterCall[] {
  let state: State = null
  return Array.from({ length }, (_, at) => {
    const [begin, end] = [at * 10 - random.below(25), at * 10 + random.below(25)]
    const before: State = state
    if (random.chance(0.5)) {
      return { begin, end, label: '', effect: { kind: 'saw', state: { kind: 'is', state: before } } }
    }
    state = random.chance(0.2) ? null : `w${at}`
    const from = random.chance(0.5) ? ({ kind: 'is', state: before } as const) : ({ kind: 'any' } as const)
    return { begin, end, label: '', effect: { kind: 'wrote', from, to: state } }
  })
}
