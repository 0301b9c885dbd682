/*
 * Goal: errors of the database library are classified, and those of the disk contain a remedy.
 * Method: errors as the library creates them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { databaseErrorOf, writeErrorOf } from '../../../../../src/store/disk/database-error.ts'

void test('a full disk, damage and other errors are distinguished, and a full disk has a remedy', () => {
  const full = databaseErrorOf(new Error('IO error: /data/db/db-0/000003.log: No space left on device'))
  assert.equal(full.code, 'full')
  assert.match(full.message, /000003\.log.*free disk space and restart this member/)
  assert.equal(full.message.split('\n').length, 1)
  const corrupt = Object.assign(new Error('checksum mismatch'), { code: 'LEVEL_CORRUPTION' })
  assert.equal(databaseErrorOf(corrupt).code, 'damaged')
  assert.equal(databaseErrorOf(new Error('IO error: Input/output error')).code, 'io')
})

function ioError(what: string): Error {
  return Object.assign(new Error(`IO error: /data/db/db-0/000005.ldb: ${what}`), { code: 'LEVEL_IO_ERROR' })
}

void test('a missing or truncated file is damage of the database, a refusal of the system is not', () => {
  for (const what of ['No such file or directory', 'Invalid argument', 'Is a directory'])
    assert.equal(databaseErrorOf(ioError(what)).code, 'damaged', what)
  for (const what of ['Permission denied', 'Too many open files', 'Read-only file system'])
    assert.equal(databaseErrorOf(ioError(what)).code, 'io', what)
  const faltering = databaseErrorOf(ioError('Input/output error'))
  assert.equal(faltering.code, 'io', 'an I/O error is the fault of the disk')
  assert.match(faltering.message, /check the disk and restart this member/)
  const notOpen = new Error('Database failed to open', { cause: ioError('No such file or directory') })
  assert.equal(databaseErrorOf(notOpen).code, 'damaged')
})

void test('a failed write is the fault of the disk, unless the database reports damage', () => {
  assert.equal(writeErrorOf(ioError('Input/output error')).code, 'io')
  assert.equal(writeErrorOf(ioError('No space left on device')).code, 'full')
  const corrupt = Object.assign(new Error('Corruption: bad block'), { code: 'LEVEL_CORRUPTION' })
  assert.equal(writeErrorOf(corrupt).code, 'damaged')
})
