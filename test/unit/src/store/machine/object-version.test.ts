/*
 * Goal: apply inserts the revision into the given bytes, and a damaged record is never accepted.
 * Method: examples of puts and deletions; one bit of every byte of a record flipped in turn.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DatabaseError } from '../../../../../src/store/store-errors.ts'
import {
  decodeVersion,
  deletedVersion,
  hashOf,
  putVersion,
  recordOf,
} from '../../../../../src/store/machine/object-version.ts'
import type { Version } from '../../../../../src/store/machine/object-version.ts'
import { newHash } from '../../../../../src/store/machine/hash.ts'
import { noRevision, revision } from '../../../../../src/store/revision.ts'
import { configMapKey, decoded, encoded } from '../../../../../fixtures/store-kit.ts'

const key = configMapKey('größe')
const created = putVersion(
  { key, revision: revision(9), previous: noRevision, lastOfCommand: false },
  encoded('ü', { labels: { app: 'x', 'a/b': '' }, terminating: true }),
)

void test('a put has the decimal revision at the offset of the command', () => {
  assert.deepEqual(decoded(created), { value: 'ü', resourceVersion: '9' })
  assert.equal(created.kind, 'created')
  assert.equal(
    Buffer.from(created.bytes.subarray(created.itemOffset, created.itemOffset + 11)).toString(),
    '"metadata":',
  )
})

void test('a deletion creates a last version whose resourceVersion is its own revision', () => {
  const place = { key, revision: revision(1234), previous: revision(9), lastOfCommand: true }
  const deleted = deletedVersion(place, created)
  assert.deepEqual(decoded(deleted), { value: 'ü', resourceVersion: '1234' })
  assert.equal(deleted.kind, 'deleted')
  assert.equal(deleted.uid, created.uid)
  assert.deepEqual(deleted.labels, created.labels)
})

void test('a record decodes to the version it was encoded from', () => {
  const again = decodeVersion(recordOf(created), revision(9))
  assert.deepEqual(again, created)
  assert.deepEqual(recordOf(again), recordOf(created))
  const plain = putVersion(
    { key, revision: revision(2 ** 45), previous: revision(9), lastOfCommand: true },
    encoded('', { labels: null }),
  )
  assert.deepEqual(decodeVersion(recordOf(plain), revision(2 ** 45)), plain)
  assert.equal(plain.kind, 'updated')
})

void test('a packed version has the same bytes as before, and so has its deletion', () => {
  const owners = `"managedFields":[{"manager":"m","time":"2026-01-02T03:04:05Z","fieldsV1":{"f:${'x'.repeat(99)}":{}}}]`
  const plain = encoded('')
  const bytes = Buffer.concat([plain.bytes.subarray(0, -1), Buffer.from(`,${owners}}`)])
  const make = (name: string, at: number): Version => {
    const place = {
      key: configMapKey(name),
      revision: revision(at),
      previous: noRevision,
      lastOfCommand: true,
    }
    return putVersion(place, { ...plain, bytes })
  }
  for (const [at, name] of ['a', 'b', 'c'].entries()) {
    const whole = make(name, at + 1)
    const version = make(name, at + 1)
    const place = { key: version.key, revision: revision(9), previous: version.revision, lastOfCommand: true }
    const deleted = recordOf(deletedVersion(place, whole))
    assert.equal(whole.parts(0).length, 1)
    for (let times = 0; times < 2; times++) {
      version.pack()
      assert.deepEqual(Buffer.from(recordOf(version)), Buffer.from(recordOf(whole)))
      assert.deepEqual(Buffer.from(version.bytes), Buffer.from(whole.bytes))
      assert.equal(version.byteLength, whole.bytes.byteLength)
      for (const from of [0, version.itemOffset]) {
        assert.deepEqual(Buffer.concat(version.parts(from)), Buffer.from(whole.bytes.subarray(from)))
      }
      assert.deepEqual(hashOf(version, newHash()), hashOf(whole, newHash()))
      assert.deepEqual(recordOf(deletedVersion(place, version)), deleted)
    }
    assert.equal(version.parts(0).length > 1, at > 0, 'a text is shared from the second time on')
  }
})

void test('a record with a flipped bit and a truncated record are never accepted', () => {
  const record = recordOf(created)
  for (let at = 0; at < record.byteLength; at++) {
    const damaged = Uint8Array.from(record)
    damaged[at] = (damaged[at] ?? 0) ^ 0x10
    assert.throws(() => decodeVersion(damaged, revision(9)), isDamage, `byte ${at}`)
    assert.throws(() => decodeVersion(record.subarray(0, at), revision(9)), isDamage, `cut at ${at}`)
  }
})

void test('a record stored under another revision is refused', () => {
  assert.throws(() => decodeVersion(recordOf(created), revision(10)), isDamage)
})

function isDamage(cause: unknown): boolean {
  return cause instanceof DatabaseError && cause.code === 'damaged'
}
