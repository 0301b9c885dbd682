/* Goal: log lines carry no secret; a bug ends the process with its own status. Method: a captured stream and exit. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BrokenInvariant } from '../../../../raft/base/assert.ts'
import { brokenExitCode, crash, failedExitCode } from '../../../../src/observe/crash.ts'
import { createLogger } from '../../../../src/observe/logger.ts'

void test('a line is one JSON object with level, time and the base fields, and secrets are withheld', () => {
  const lines: string[] = []
  const log = createLogger({
    level: 'info',
    base: { member: 'n1' },
    destination: { write: (line) => void lines.push(line) },
  })
  log.debug({}, 'not written')
  log.info({ token: 'abc', request: { authorization: 'Bearer xyz', path: '/' } }, 'asked')
  assert.equal(lines.length, 1)
  const line = JSON.parse(lines[0] ?? '') as Record<string, unknown>
  assert.equal(line['level'], 'info')
  assert.equal(line['member'], 'n1')
  assert.equal(line['msg'], 'asked')
  assert.ok(typeof line['time'] === 'string')
  assert.doesNotMatch(lines[0] ?? '', /abc|xyz/)
})

void test('a broken invariant and a failure end with different statuses', () => {
  const ends: number[] = []
  const lines: string[] = []
  const words = {
    log: { fatal: (_: object, text: string) => void lines.push(text) },
    exit: (code: number) => void ends.push(code),
  }
  crash(new BrokenInvariant('two leaders'), words)
  crash(new Error('disk gone'), words)
  assert.deepEqual(ends, [brokenExitCode, failedExitCode])
  assert.match(lines[0] ?? '', /bug/)
})
