/*
 * Goal: a member whose objects or revisions differ from the state at its log index is detected, and
 * so is one whose objects have the right revisions but other bytes.
 * Method: the real machine and the naive replay get the same entries, then different ones.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BrokenInvariant } from '../../../base/assert.ts'
import { Truth } from '../../simulation/checkers/truth.ts'
import { checkPrefix, checkRevision } from '../../simulation/checkers/state-prefix.ts'
import { Machine } from '../../../src/store/machine/machine.ts'
import { emptyState } from '../../../src/store/machine/state.ts'
import type { Command } from '../../../src/store/command.ts'
import { configMapKey, LogWriter, ownSession, put, remove, write } from '../../../fixtures/store-kit.ts'

/** Applies commands to a machine, and others to the reference. @returns both */
function both(machines: readonly Command[], true_: readonly Command[]): [Machine, Truth] {
  const machine = new Machine(emptyState())
  const truth = new Truth()
  const [one, other] = [new LogWriter(), new LogWriter()]
  for (const command of machines) machine.apply([one.command(command)], ownSession)
  for (const command of true_) truth.committed(other.command(command))
  return [machine, truth]
}

const a = configMapKey('a')
const b = configMapKey('b')
const first = [write(put(a, '1'), put(b, '1')), write(put(a, '2'))]

void test('equal entries give equal states, whatever the conditions refuse', () => {
  const refused = write(put(a, '3'), put(b, '3', { kind: 'absent' }))
  const [machine, truth] = both([...first, refused, write(remove(b))], [...first, refused, write(remove(b))])
  checkPrefix(1, machine.state, truth)
  assert.equal(truth.revision, 4)
})

void test('a lagging member is compared with the state at its index', () => {
  const [machine, truth] = both(first, [...first, write(remove(a))])
  checkPrefix(1, machine.state, truth)
})

void test('a command takes effect once, and only in the term it was made for', () => {
  const machine = new Machine(emptyState())
  const truth = new Truth()
  const log = new LogWriter()
  log.command(write(put(a, '1')), { sequence: 1, acknowledgedBelow: 1 })
  log.command(write(put(a, '1')), { sequence: 1, acknowledgedBelow: 1 })
  log.command(write(put(a, '2')), { sequence: 2, acknowledgedBelow: 1, expectedTerm: 2 })
  log.command(write(put(a, '3')), { sequence: 5, acknowledgedBelow: 4 })
  // The proposer no longer waits for this sequence number, so the command is not applied.
  log.command(write(put(a, '4')), { sequence: 3, acknowledgedBelow: 1 })
  machine.apply(log.entries, ownSession)
  for (const entry of log.entries) truth.committed(entry)
  assert.equal(truth.revision, 2)
  checkPrefix(1, machine.state, truth)
})

void test('I12: two revisions at one index are detected', () => {
  const [machine, truth] = both([write(put(a, '1')), write(put(a, '2'))], first)
  finds(/^I12 /, () => checkRevision(1, machine.state, truth))
})

void test('I11: a partially applied command, and a missing object, are detected', () => {
  const [machine, truth] = both([write(put(a, '1'), put(a, '1')), write(put(a, '2'))], first)
  finds(/^I11 /, () => checkPrefix(1, machine.state, truth))
  const [gone, here] = both([...first, write(remove(b))], [...first, write(put(b, '2'))])
  finds(/^I11 /, () => checkPrefix(1, gone.state, here))
})

void test('I14: an object with the right revision and other bytes is detected', () => {
  const [machine, truth] = both([...first, write(put(b, 'x'))], [...first, write(put(b, 'y'))])
  finds(/^I14 /, () => checkPrefix(1, machine.state, truth))
})

function finds(claim: RegExp, check: () => void): void {
  assert.throws(check, (cause) => cause instanceof BrokenInvariant && claim.test(cause.message))
}
