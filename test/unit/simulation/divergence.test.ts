/*
 * Goal: an injected divergence justifies the quarantine of a state, and nothing else does.
 * Method: calls the comparisons of a state directly: it is right, wrong, or was wrong only between
 *   two comparisons.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { encodeEnvelope, logIndex, noIndex, term } from '../../../raft/index.ts'
import type { Entry } from '../../../raft/index.ts'
import { encodeCommand } from '../../../src/store/command-codec.ts'
import { keyOf } from '../../../src/store/key.ts'
import { StateCondition } from '../../simulation/divergence.ts'

const object = {
  ...{ bytes: Buffer.from('{"token":"1"}'), revisionOffset: 1, itemOffset: 1 },
  ...{ uid: 'u', terminating: false, labels: null },
}
const payload = encodeCommand({
  kind: 'write',
  operations: [
    {
      kind: 'put',
      key: keyOf({ group: '', plural: 'configmaps', namespace: 'default', name: 'k' }),
      conditions: [],
      object,
    },
  ],
})
const envelope = { session: 1, sequence: 1, acknowledgedBelow: 1, expectedTerm: term(1), payload }
const write: Entry = { kind: 'command', index: logIndex(1), term: term(1), data: encodeEnvelope(envelope) }

/** Returns a state that was compared with the log once, at its beginning. */
function begun(): StateCondition {
  const state = new StateCondition()
  state.begins()
  assert.ok(state.compared(true, true, false))
  return state
}

function applied(state: StateCondition): Entry | undefined {
  return state.entries([write], noIndex)[0]
}

void test('an undamaged state is right and may not be quarantined', () => {
  const state = begun()
  assert.equal(applied(state), write)
  assert.ok(state.compared(true, true, false))
  assert.ok(!state.mayBeDistrusted)
  assert.ok(!state.compared(true, false, false), 'it reported what the log does not produce')
  assert.ok(!begun().compared(false, true, false), 'it is not what the log produces')
})

void test('an error between two checks counts against a state as long as that state is used', () => {
  const state = begun()
  state.corrupt('skipped')
  assert.equal(applied(state)?.kind, 'empty')
  assert.ok(state.compared(true, false, false))
  assert.ok(!state.isWrong)
  assert.ok(state.mayBeDistrusted)
  assert.ok(state.compared(true, true, false))
  assert.ok(state.mayBeDistrusted, 'others know what it reported')
  state.begins()
  assert.ok(state.compared(true, true, false))
  assert.ok(!state.mayBeDistrusted)
})

void test('an injected divergence without effect is no reason for a quarantine', () => {
  const state = begun()
  state.corrupt('bit-flip')
  assert.notEqual(applied(state), write)
  assert.ok(state.compared(true, true, false))
  assert.ok(!state.mayBeDistrusted)
})
