/*
 * Goal: compressed data is decompressed correctly, and malformed data is refused.
 * Method: streams built by hand from the format's description; random ones. Those of LevelDB are
 * read in `check-tables.test.ts`.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../../../base/random.ts'
import { unsnap } from '../../../../../../src/store/disk/tables/snappy.ts'
import { Malformed } from '../../../../../../src/store/disk/tables/varint-reader.ts'

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1')
const a = 0x61
const b = 0x62

void test('literals and the three kinds of copies are decompressed', () => {
  assert.equal(text(unsnap(Uint8Array.of(0), 10)), '')
  assert.equal(text(unsnap(Uint8Array.of(2, 1 << 2, a, b), 10)), 'ab')
  // Four bytes from two back, by each kind: the copy overlaps its output.
  assert.equal(text(unsnap(Uint8Array.of(6, 1 << 2, a, b, 1, 2), 10)), 'ababab')
  assert.equal(text(unsnap(Uint8Array.of(6, 1 << 2, a, b, (3 << 2) | 2, 2, 0), 10)), 'ababab')
  assert.equal(text(unsnap(Uint8Array.of(6, 1 << 2, a, b, (3 << 2) | 3, 2, 0, 0, 0), 10)), 'ababab')
  const long = new Uint8Array(300).fill(a)
  assert.equal(text(unsnap(Uint8Array.of(0xac, 2, 61 << 2, 43, 1, ...long), 400)), text(long))
})

void test('malformed streams are refused', () => {
  for (const bad of [
    [],
    [3, 1 << 2, a, b],
    [1, 1 << 2, a, b],
    [2, 1 << 2, a],
    [6, 1 << 2, a, b, 1, 3],
    [6, 1 << 2, a, b, 1, 0],
    [4, 1 << 2, a, b, 1, 2],
    [200, 1, 1 << 2, a, b],
    [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1],
  ]) {
    assert.throws(() => unsnap(Uint8Array.from(bad), 100), Malformed, String(bad))
  }
})

void test('any input is refused or decompressed to the length that it states', () => {
  const random = new SeededRandom(11)
  for (let round = 0; round < 5000; round++) {
    const bytes = random.bytes(random.below(60))
    bytes[0] = random.below(128)
    try {
      assert.equal(unsnap(bytes, 1000).byteLength, bytes[0])
    } catch (cause) {
      assert.ok(cause instanceof Malformed, `round ${round}: ${String(cause)}`)
    }
  }
})
