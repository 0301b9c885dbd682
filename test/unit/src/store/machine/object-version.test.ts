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
import { RecordSlabs } from '../../../../../src/store/machine/record-slabs.ts'
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
  assert.deepEqual(fieldsOf(again), fieldsOf(created))
  assert.deepEqual(fieldsOf(again), {
    ...{ key, revision: 9, uid: created.uid, labels: { app: 'x', 'a/b': '' }, terminating: true },
    ...{ kind: 'created', previous: 0, lastOfCommand: false, byteLength: created.bytes.byteLength },
    ...{ itemOffset: created.itemOffset, revisionOffset: created.revisionOffset },
  })
  assert.deepEqual(recordOf(again), recordOf(created))
  const plain = putVersion(
    { key, revision: revision(2 ** 45), previous: revision(9), lastOfCommand: true },
    encoded('', { labels: null }),
  )
  assert.deepEqual(fieldsOf(decodeVersion(recordOf(plain), revision(2 ** 45))), fieldsOf(plain))
  assert.equal(plain.kind, 'updated')
})

function fieldsOf(version: Version): object {
  const { key: name, uid, labels, terminating, kind, previous, lastOfCommand } = version
  const { revision: at, byteLength, itemOffset, revisionOffset } = version
  return {
    ...{ key: name, revision: at, uid, labels, terminating, kind, previous, lastOfCommand },
    ...{ byteLength, itemOffset, revisionOffset },
  }
}

/** Returns the bytes of a version from an offset on, copied with bytes before and after. */
function copyOf(version: Version, from: number): Buffer {
  const target = Buffer.alloc(version.byteLength - from + 10, '?')
  assert.equal(version.copyTo(target.subarray(0, -6), 5, from), version.byteLength - from)
  assert.ok(
    target.every((byte) => byte === 0x3f),
    'nothing is copied if it does not fit',
  )
  version.copyTo(target, 5, from)
  const around = [target.subarray(0, 5), target.subarray(-5)]
  assert.equal(Buffer.concat(around).toString(), '??????????')
  return target.subarray(5, -5)
}

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
  const slabs = new RecordSlabs()
  for (const [at, name] of ['a', 'b', 'c'].entries()) {
    const whole = make(name, at + 1)
    const version = make(name, at + 1)
    const place = { key: version.key, revision: revision(9), previous: version.revision, lastOfCommand: true }
    const deleted = recordOf(deletedVersion(place, whole))
    assert.equal(whole.beginning.byteLength, whole.byteLength)
    for (let times = 0; times < 2; times++) {
      version.pack(slabs)
      assert.deepEqual(Buffer.from(recordOf(version)), Buffer.from(recordOf(whole)))
      assert.deepEqual(Buffer.from(version.bytes), Buffer.from(whole.bytes))
      assert.deepEqual(fieldsOf(version), fieldsOf(whole))
      for (const from of [0, version.itemOffset]) {
        assert.deepEqual(copyOf(version, from), Buffer.from(whole.bytes.subarray(from)))
      }
      assert.deepEqual(hashOf(version, newHash()), hashOf(whole, newHash()))
      assert.deepEqual(recordOf(deletedVersion(place, version)), deleted)
    }
    const { beginning } = version
    assert.deepEqual(Buffer.from(beginning), Buffer.from(whole.bytes.subarray(0, beginning.byteLength)))
    assert.ok(beginning.byteLength >= whole.revisionOffset)
    const isShared = beginning.byteLength < whole.byteLength
    assert.equal(isShared, at > 0, 'a text is shared from the second time on')
  }
})

void test('a released version can still be read, packed or not', () => {
  const [whole, packed] = [
    decodeVersion(recordOf(created), revision(9)),
    decodeVersion(recordOf(created), revision(9)),
  ]
  const slabs = new RecordSlabs()
  packed.pack(slabs)
  for (const version of [whole, packed]) {
    version.release(slabs)
    version.pack(slabs)
    assert.deepEqual(fieldsOf(version), fieldsOf(created))
    assert.deepEqual(Buffer.from(recordOf(version)), Buffer.from(recordOf(created)))
  }
  assert.throws(() => packed.release(slabs), /a version is released once/)
  assert.throws(() => whole.release(slabs), /a version is released once/)
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
