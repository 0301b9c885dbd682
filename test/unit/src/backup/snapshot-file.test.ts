/*
 * Goal: a snapshot file reads back as it was saved, and any part that was changed, truncated, moved
 * or removed is detected.
 * Method: files of a real state, changed at every byte and cut at every length, with and without a
 * secret.
 */
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { SeededRandom } from '../../../../base/random.ts'
import { ChunkSeal } from '../../../../src/backup/chunk-seal.ts'
import type { Secret } from '../../../../src/backup/chunk-seal.ts'
import { BackupError } from '../../../../src/backup/errors.ts'
import { SnapshotFile } from '../../../../src/backup/snapshot-file.ts'
import { decodeHeader } from '../../../../src/backup/snapshot-format.ts'
import { SnapshotWriter } from '../../../../src/backup/snapshot-writer.ts'
import { SnapshotVerifier } from '../../../../src/backup/snapshot-verifier.ts'
import { verifySnapshot } from '../../../../src/backup/verify-snapshot.ts'
import { encodeFrame } from '../../../../src/store/disk/snapshot-frames.ts'
import { encodeStoredHead } from '../../../../src/store/disk/stored-head.ts'
import { headOf } from '../../../../src/store/machine/digest.ts'
import { newHash } from '../../../../src/store/machine/hash.ts'
import { encodeHead } from '../../../../src/store/machine/head.ts'
import { bytesOf, fileOf, streamOf } from '../../../support/fixtures/snapshot-file.ts'

const small = await streamOf(1, 4)
const large = await streamOf(2, 400)
after(async () => {
  await small.machine.close()
  await large.machine.close()
})
const key: Secret = { kind: 'key', bytes: Buffer.alloc(32, 9) }
const passphrase: Secret = { kind: 'passphrase', text: 'correct horse battery staple' }

function verified(file: Buffer, secret: Secret | null): ReturnType<typeof verifySnapshot> {
  return verifySnapshot(new SnapshotFile(bytesOf(file), 'b.snap'), { name: 'b.snap', secret })
}

function refusal(file: Buffer, secret: Secret | null): BackupError {
  try {
    verified(file, secret)
  } catch (cause) {
    if (cause instanceof BackupError) return cause
    throw cause
  }
  return assert.fail('the file was accepted')
}

void test('a saved snapshot is read back, and its counts are those of the member', () => {
  for (const secret of [null, key, passphrase]) {
    const { header, summary } = verified(fileOf(large.chunks, secret), secret)
    assert.equal(header.clusterId, 'c1')
    assert.equal(summary.digest, large.machine.digest)
    assert.equal(header.revision, large.machine.state.revision)
    const usage = new Map(
      large.machine.state.usage.largest(10).map((one) => [one.resource, [one.objects, one.bytes]]),
    )
    assert.ok(usage.size > 1)
    assert.deepEqual(new Map(summary.resources.map((one) => [one.resource, [one.objects, one.bytes]])), usage)
  }
})

void test('the stream may be split anywhere', () => {
  const random = new SeededRandom(3)
  const all = Buffer.concat(large.chunks)
  const whole = [...new SnapshotFile(bytesOf(fileOf(large.chunks, null)), 'b.snap').pieces(null)]
  assert.deepEqual(Buffer.concat(whole), all)
  for (let round = 0; round < 20; round++) {
    const pieces: Buffer[] = []
    for (let at = 0; at < all.length;) {
      const piece = all.subarray(at, at + 1 + random.below(5000))
      pieces.push(piece)
      at += piece.length
    }
    assert.deepEqual(fileOf(pieces, null), fileOf(large.chunks, null))
  }
})

void test('a byte changed anywhere is detected', () => {
  for (const secret of [null, key]) {
    const file = fileOf(small.chunks, secret)
    assert.ok(file.length < 8000, `${file.length} bytes`)
    for (let at = 0; at < file.length; at++) {
      for (const change of [1, 0x80, 0xff]) {
        const altered = Buffer.from(file)
        altered.writeUInt8((altered.readUInt8(at) ^ change) & 0xff, at)
        const { code, message } = refusal(altered, secret)
        assert.ok(code !== 'refused' && !message.includes('\n'), message)
      }
    }
  }
})

void test('a file that is cut at any length, or that continues after its end, is detected', () => {
  for (const secret of [null, key]) {
    const file = fileOf(small.chunks, secret)
    for (let length = 0; length < file.length; length++) {
      const { code } = refusal(file.subarray(0, length), secret)
      assert.equal(code, length < 8 ? 'not-a-snapshot' : 'incomplete', `${length} bytes`)
    }
    assert.equal(refusal(Buffer.concat([file, Buffer.alloc(1)]), secret).code, 'damaged')
    assert.equal(refusal(Buffer.concat([file, file]), secret).code, 'damaged')
  }
})

/** Returns the chunks of a file. */
function chunksIn(file: Buffer): readonly Buffer[] {
  const chunks: Buffer[] = []
  for (let at = 16 + file.readUInt32LE(12) + 32 + 16; at < file.length;) {
    const end = at + 5 + file.readUInt32LE(at) + 16
    chunks.push(file.subarray(at, end))
    at = end
  }
  return chunks
}

/** Returns a file of many chunks that all differ. */
function noiseFile(secret: Secret | null, salt: number): Buffer {
  const written: Uint8Array[] = []
  const { header } = new SnapshotFile(bytesOf(fileOf(small.chunks, secret, salt)), 'b.snap')
  const write = (bytes: Uint8Array): number => written.push(Uint8Array.from(bytes))
  const writer = new SnapshotWriter({ name: 'b.snap', header, secret, write })
  for (let at = 0; at < 40; at++) writer.push(Buffer.alloc(30_000, at))
  writer.end()
  return Buffer.concat(written)
}

void test('chunks that are removed, moved, repeated or taken from another file are detected', () => {
  for (const secret of [null, key]) {
    const file = noiseFile(secret, 5)
    const chunks = chunksIn(file)
    assert.ok(chunks.length > 4, `${chunks.length} chunks`)
    const head = file.subarray(0, file.length - Buffer.concat(chunks).length)
    const other = chunksIn(noiseFile(secret, 6))
    const [first, second, ...rest] = chunks as [Buffer, Buffer, ...Buffer[]]
    const codeOf = (wrong: readonly Buffer[]): string => {
      try {
        for (const piece of new SnapshotFile(bytesOf(Buffer.concat(wrong)), 'b.snap').pieces(secret))
          assert.ok(piece.length > 0)
        return 'whole'
      } catch (cause) {
        return cause instanceof BackupError ? cause.code : String(cause)
      }
    }
    assert.equal(codeOf([head, ...chunks]), 'whole')
    assert.equal(codeOf([head, second, ...rest]), 'damaged')
    assert.equal(codeOf([head, second, first, ...rest]), 'damaged')
    assert.equal(codeOf([head, first, first, second, ...rest]), 'damaged')
    assert.equal(codeOf([head, first, ...rest]), 'damaged')
    assert.equal(codeOf([head, ...chunks.slice(0, -2), chunks.at(-1) as Buffer]), 'damaged')
    assert.equal(codeOf([head, ...chunks.slice(0, -1)]), 'incomplete')
    // Without a secret and a salt, equal states at one time make equal files.
    if (secret !== null) assert.equal(codeOf([head, first, other[1] as Buffer, ...rest]), 'damaged')
  }
})

void test('without its secret only the header of a file can be read', () => {
  const file = fileOf(large.chunks, passphrase)
  assert.ok(fileOf(large.chunks, null).includes('"kind":"ConfigMap"'))
  assert.ok(!file.includes('ConfigMap') && !file.includes('orch-snapshot'))
  const other: Secret = { kind: 'passphrase', text: 'correct horse battery stable' }
  assert.match(refusal(file, other).message, /b\.snap was saved with another passphrase/)
  assert.match(refusal(file, null).message, /is encrypted with a passphrase: give --passphrase-file/)
  assert.match(refusal(file, key).message, /is encrypted with a passphrase: give --passphrase-file/)
  const plain = fileOf(large.chunks, null)
  assert.match(refusal(plain, passphrase).message, /is not encrypted: omit the passphrase or key/)
  const locked = fileOf(large.chunks, key)
  assert.match(refusal(locked, null).message, /is encrypted with a key: give --key-file/)
  const otherKey: Secret = { kind: 'key', bytes: Buffer.alloc(32, 8) }
  assert.match(refusal(locked, otherKey).message, /saved with another key/)
})

void test('two files of one state are encrypted differently', () => {
  const [one, other] = [fileOf(large.chunks, key, 5), fileOf(large.chunks, key, 6)]
  assert.notDeepEqual(chunksIn(one)[0], chunksIn(other)[0])
})

void test('every chunk of a file is sealed for its own place', () => {
  for (const bytes of [null, Buffer.alloc(32, 9)]) {
    const seal = new ChunkSeal(Buffer.alloc(32, 1), bytes)
    const sealed = new Map<string, number>()
    for (let number = 0; number < 300; number++) {
      const place = { number, kind: 1 }
      const { payload, check } = seal.seal(place, Buffer.from('the same'))
      assert.deepEqual(seal.open(place, payload, check)?.toString(), 'the same')
      assert.equal(seal.open({ number: number + 1, kind: 1 }, payload, check), null)
      assert.equal(seal.open({ number, kind: 2 }, payload, check), null)
      assert.equal(new ChunkSeal(Buffer.alloc(32, 2), bytes).open(place, payload, check), null)
      // With a nonce used twice, the relation between the payloads would be visible.
      sealed.set(`${Buffer.from(bytes === null ? check : payload).toString('hex')}`, number)
    }
    assert.equal(sealed.size, 300)
  }
})

void test('a header with excessive parameters, or with terminal control characters, is damaged', () => {
  const { header } = new SnapshotFile(bytesOf(fileOf(small.chunks, passphrase)), 'b.snap')
  const { encryption } = header
  assert.equal(encryption?.kind, 'passphrase')
  for (const wrong of [
    { ...encryption, cost: 2 ** 40 },
    { ...encryption, cost: 3 },
    { ...encryption, cost: 1 },
    { ...encryption, cost: 2 ** 21 },
    { ...encryption, blocks: 1e6 },
    { ...encryption, blocks: 33 },
    { ...encryption, blocks: 0 },
    { ...encryption, parallel: 17 },
    { ...encryption, parallel: 0 },
    { kind: 'words', salt: '' },
    [],
  ]) {
    const json = Buffer.from(JSON.stringify({ ...header, encryption: wrong }))
    assert.throws(() => decodeHeader(json, 'b.snap'), { code: 'damaged' })
  }
  for (const right of [
    { cost: 2, blocks: 1, parallel: 1 },
    { cost: 2 ** 20, blocks: 32, parallel: 16 },
  ]) {
    const json: Buffer = Buffer.from(JSON.stringify({ ...header, encryption: { ...encryption, ...right } }))
    assert.deepEqual(decodeHeader(json, 'b.snap').encryption, { ...encryption, ...right })
  }
  for (const field of ['clusterName', 'savedAt', 'digest', 'program', 'clusterId']) {
    const json = Buffer.from(JSON.stringify({ ...header, [field]: 'a\u001b[2Jb' }))
    assert.throws(() => decodeHeader(json, 'b.snap'), { code: 'damaged' })
  }
  assert.deepEqual(decodeHeader(Buffer.from(JSON.stringify(header)), 'b.snap'), header)
})

void test('a file that is not a snapshot, or has a newer format, is refused for that reason', () => {
  assert.match(
    refusal(Buffer.from('PK\u0003\u0004 and more than sixteen bytes'), null).message,
    /is not a snapshot/,
  )
  assert.match(refusal(Buffer.alloc(0), null).message, /is not a snapshot/)
  const newer = fileOf(small.chunks, null)
  newer.writeUInt32LE(2, 8)
  const { code, message } = refusal(newer, null)
  assert.equal(code, 'newer-format')
  assert.match(message, /format 2, this program knows up to 1: use the program that saved it/)
})

void test('a state of a newer program is reported as newer, not as damaged', () => {
  const head = encodeHead(headOf(small.machine.state))
  head[0] = 99
  const newer = encodeFrame({ kind: 'head', storedHead: encodeStoredHead(head, newHash()) })
  assert.throws(() => new SnapshotVerifier('b.snap').take(newer), {
    name: 'BackupError',
    code: 'newer-format',
    message: /^b\.snap: the database has format 99, .* start the newer program$/,
  })
})

void test('an incomplete or altered stream produces no file', () => {
  const all = Buffer.concat(small.chunks)
  for (let length = 0; length < all.length; length += 7) {
    assert.throws(() => fileOf([all.subarray(0, length)], null), {
      name: 'BackupError',
      code: 'incomplete',
    })
  }
  for (let at = 0; at < all.length; at++) {
    const altered = Buffer.from(all)
    altered.writeUInt8(altered.readUInt8(at) ^ 0x10, at)
    assert.throws(() => fileOf([altered], null), BackupError, `byte ${at}`)
  }
  const survey = new SnapshotVerifier('the stream')
  assert.throws(() => survey.finish(), { code: 'incomplete' })
})
