/*
 * Goal: the digest depends on the objects and on the remembered outcomes.
 * Method: machines with a log of one write, which differs in its value or its session.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { digestOf } from '../../../../../src/store/machine/digest.ts'
import { hashText } from '../../../../../src/store/machine/hash.ts'
import { Machine } from '../../../../../src/store/machine/machine.ts'
import { emptyState } from '../../../../../src/store/machine/state.ts'
import { configMapKey, LogWriter, put, write } from '../../../../../fixtures/store-kit.ts'

function digest(session: number, value: string): string {
  const log = new LogWriter()
  log.command(write(put(configMapKey('a'), value)), { session })
  const machine = new Machine(emptyState())
  machine.apply(log.entries, 1)
  return hashText(digestOf(machine.state))
}

void test('equal logs have equal digests; another object or another remembered outcome changes the digest', () => {
  assert.equal(digest(7, 'x'), digest(7, 'x'))
  assert.notEqual(digest(7, 'x'), digest(7, 'y'))
  assert.notEqual(digest(7, 'x'), digest(8, 'x'), 'the proposer of an outcome is part of the state')
})
