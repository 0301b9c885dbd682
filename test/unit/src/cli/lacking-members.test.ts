/*
 * Goal: a step of `orchctl pki rotate-ca` is not refused because members have not read new files
 * yet, and is refused when they do not read them.
 * Method: a clock of the test, and checks that return what members lack.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lackingMembers } from '../../../../src/cli/lacking-members.ts'
import type { Clock, Timer } from '../../../../base/clock.ts'

/** A clock whose time passes at once. */
function eagerClock(): Pick<Clock, 'after'> & { passedMs: number } {
  const clock = {
    passedMs: 0,
    after(delayMs: number, run: () => void): Timer {
      clock.passedMs += delayMs
      queueMicrotask(run)
      return { cancel: () => undefined }
    },
  }
  return clock
}

void test('members that take new files a moment later are waited for', async () => {
  const clock = eagerClock()
  const seen = [['n1', 'n2'], ['n2'], [], ['n3']]
  assert.deepEqual(await lackingMembers(clock, () => Promise.resolve(seen.shift() ?? [])), [])
  assert.deepEqual(seen, [['n3']], 'no check after the one that is complete')
  assert.ok(clock.passedMs > 0)
})

void test('members that never take new files are returned', async () => {
  const clock = eagerClock()
  let checks = 0
  const check = (): Promise<readonly string[]> => Promise.resolve([`n${++checks}`])
  const lacking = await lackingMembers(clock, check)
  assert.deepEqual(lacking, [`n${checks}`], 'those of the last check')
  // Members apply new files within a second or two.
  assert.ok(clock.passedMs >= 2000 && clock.passedMs <= 10_000, `${clock.passedMs} ms`)
})

void test('a failed check is not repeated', async () => {
  let checks = 0
  const check = (): Promise<readonly string[]> => {
    checks++
    return Promise.reject(new Error('no member responds'))
  }
  await assert.rejects(lackingMembers(eagerClock(), check), /no member responds/)
  assert.equal(checks, 1)
})
