/* Goal: what the database library says becomes the store's own words. Method: errors as the library makes them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { storageFailure } from '../../../../../src/store/disk/storage-failure.ts'

void test('a full disk is told apart, with what to do; damage and the rest are told apart too', () => {
  const full = storageFailure(new Error('IO error: /data/db/db-0/000003.log: No space left on device'))
  assert.equal(full.code, 'full')
  assert.match(full.message, /000003\.log.*make room and start this member again/)
  assert.equal(full.message.split('\n').length, 1)
  const corrupt = Object.assign(new Error('checksum mismatch'), { code: 'LEVEL_CORRUPTION' })
  assert.equal(storageFailure(corrupt).code, 'damaged')
  assert.equal(storageFailure(new Error('IO error: Input/output error')).code, 'io')
})
