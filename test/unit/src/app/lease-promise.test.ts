/*
 * Goal: the longest promise that any process of a member may have given is known to the next one. Method: a real directory.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { forgetPromise, promisedMs } from '../../../../src/app/lease-promise.ts'

void test('the longest election timeout of all starts is kept until it was waited out', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'orch-promise-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  const kept = (): string => readFileSync(join(directory, 'lease-promise'), 'utf8')
  assert.equal(promisedMs(directory, 300), 300)
  assert.equal(kept(), '300\n')
  assert.equal(promisedMs(directory, 5000), 5000)
  assert.equal(promisedMs(directory, 500), 5000)
  assert.equal(promisedMs(directory, 300), 5000)
  assert.equal(kept(), '5000\n')
  const warned: unknown[] = []
  const log = { warn: (facts: unknown) => void warned.push(facts) }
  forgetPromise(join(directory, 'gone'), 300, log)
  assert.equal(warned.length, 1)
  forgetPromise(directory, 300, log)
  assert.equal(promisedMs(directory, 300), 300)
})

void test('a file that says no number refuses the start and says what to write', (t) => {
  const directory = mkdtempSync(join(tmpdir(), 'orch-promise-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  writeFileSync(join(directory, 'lease-promise'), 'soon')
  assert.throws(() => promisedMs(directory, 300), { name: 'StartFailure', message: /write the longest/ })
})
