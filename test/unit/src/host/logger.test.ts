/*
 * Goal: log lines carry no secret; a bug ends the process with its own status.
 * Method: a captured stream and exit.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BrokenInvariant } from '../../../../base/assert.ts'
import { brokenExitCode, crash, failedExitCode } from '../../../../src/host/crash.ts'
import { createLogger } from '../../../../src/host/logger.ts'

void test('a line is one JSON object with level, time and the base fields, and secrets are withheld', () => {
  const lines: string[] = []
  const log = createLogger({
    level: 'info',
    format: 'json',
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

void test('a text line has the same content on one line, and no value can look like a field', () => {
  const lines: string[] = []
  const log = createLogger({
    level: 'info',
    format: 'text',
    base: { member: 'n1' },
    destination: { write: (line) => void lines.push(line) },
  })
  const evil = 'x\nmember=n2 \u001b[31m\u202e'
  log.warn({ url: 'https://h:1', token: 'abc', cause: evil, list: [1, 'a b'], gapMs: 12 }, 'new leader')
  assert.equal(lines.length, 1)
  const [time, ...rest] = (lines[0] ?? '').split(' ')
  assert.ok(!Number.isNaN(Date.parse(time ?? '')))
  assert.equal(
    rest.join(' '),
    'WARN n1 new leader url=https://h:1 token="[withheld]" cause="x\\nmember=n2 \\u001b[31m\\u202e" list=[1,"a b"] gapMs=12\n',
  )
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
