/*
 * Goal: one process at a time changes the keys in a directory, whatever became of the one before.
 * Method: real files; `isAlive` of the test decides whether another process is running.
 */
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { PkiError } from '../../../../src/pki/errors.ts'
import { lockForRotation, withDirectoryLock } from '../../../../src/pki/renewal/directory-lock.ts'

function directoryOf(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'renewal-lock-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

const isHeld = (cause: unknown): boolean =>
  cause instanceof PkiError && cause.code === 'unusable' && /process 8 changes keys/.test(cause.message)

void test('the lock of a process that has ended is taken over, and nothing is left behind', (t) => {
  const directory = directoryOf(t)
  writeFileSync(join(directory, 'renewal.lock'), '7\n')
  const self = { pid: 9, isAlive: (pid: number) => pid !== 7 }
  assert.equal(
    withDirectoryLock(directory, self, () => readFileSync(join(directory, 'renewal.lock'), 'utf8')),
    '9\n',
  )
  assert.deepEqual(readdirSync(directory), [])
})

void test('the lock of a running process is respected', (t) => {
  const directory = directoryOf(t)
  const unlock = lockForRotation(directory, { pid: 8, isAlive: () => true })
  assert.throws(() => lockForRotation(directory, { pid: 9, isAlive: () => true }), isHeld)
  unlock()
  assert.deepEqual(readdirSync(directory), [])
})

void test('of two processes that find the lock of an ended one, only the first takes it over', (t) => {
  const directory = directoryOf(t)
  const path = join(directory, 'rotation.lock')
  writeFileSync(path, '7\n')
  const other = { pid: 8, isAlive: () => false }
  let unlock: () => void = () => assert.fail('the other process did not lock')
  const isAlive = (pid: number): boolean => {
    assert.equal(pid, 7)
    // The other process locks first.
    unlock = lockForRotation(directory, other)
    return false
  }
  assert.throws(() => lockForRotation(directory, { pid: 9, isAlive }), isHeld)
  assert.equal(readFileSync(path, 'utf8'), '8\n')
  assert.deepEqual(readdirSync(directory), ['rotation.lock'])
  unlock()
})
