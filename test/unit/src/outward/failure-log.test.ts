/*
 * Goal: failing and recovering calls of another server are logged at limited frequency.
 * Method: failures and successes on a manual clock, and the recorded lines.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { limits } from '../../../../src/config/limits.ts'
import { FailureLog } from '../../../../src/outward/failure-log.ts'
import { ManualClock } from '../../../support/fakes/manual-clock.ts'

void test('a server whose every second call fails is logged with one failure and one success per interval', async () => {
  const clock = new ManualClock()
  const lines: string[] = []
  const note = (fields: object, message: string): unknown =>
    lines.push(`${message}: ${'failures' in fields ? String(fields.failures) : ''}`)
  const log = { warn: note, info: note }
  const failures = new FailureLog({ what: 'webhook', url: 'https://h' }, { clock, log })
  failures.succeeded()
  for (let call = 0; call < 10; call++) {
    failures.failed('timeout')
    failures.succeeded()
  }
  assert.deepEqual(lines, ['calls of the webhook fail: 1', 'calls of the webhook succeed again: 1'])
  await clock.advance(limits.outwardFailureLogMs)
  failures.failed('timeout')
  failures.succeeded()
  assert.deepEqual(lines.slice(2), [
    'calls of the webhook fail: 10',
    'calls of the webhook succeed again: 10',
  ])
})
