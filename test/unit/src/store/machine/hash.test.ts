/*
 * Goal: the hash depends on every bit, and sums of hashes are reversible.
 * Method: flips of single bits; pinned values, because stored data depends on them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../../base/random.ts'
import {
  addHash,
  hash128,
  hashText,
  newHash,
  readHash,
  sameHash,
  subtractHash,
  writeHash,
} from '../../../../../src/store/machine/hash.ts'

function textHash(text: string): string {
  return hashText(hash128(Buffer.from(text), 0, newHash()))
}

void test('values are pinned, because databases hold them', () => {
  assert.equal(textHash(''), '00000000000000000000000000000000')
  assert.equal(textHash('a'), '0e8ff0974247a279105cc0d47440e91d')
  assert.equal(textHash('the sixteen bytes'), 'afb6686de8ca89998660f32a3eab4f7c')
})

void test('every flipped bit of up to 50 bytes changes the hash', () => {
  const random = new SeededRandom(5)
  for (let length = 1; length <= 50; length++) {
    const bytes = random.bytes(length)
    const before = hash128(bytes, 0, newHash())
    for (let bit = 0; bit < 8 * length; bit++) {
      const flipped = Uint8Array.from(bytes)
      flipped[bit >>> 3] = (flipped[bit >>> 3] ?? 0) ^ (1 << (bit & 7))
      assert.ok(!sameHash(before, hash128(flipped, 0, newHash())), `bit ${bit} of ${length} bytes`)
    }
  }
})

void test('zeros of different lengths have different hashes', () => {
  const seen = new Set(
    Array.from({ length: 64 }, (_, length) => hashText(hash128(new Uint8Array(length), 0, newHash()))),
  )
  assert.equal(seen.size, 64)
})

void test('a hash does not depend on the alignment of the bytes', () => {
  const bytes = new SeededRandom(6).bytes(100)
  const shifted = new Uint8Array(200)
  shifted.set(bytes, 33)
  const view = shifted.subarray(33, 133)
  assert.ok(sameHash(hash128(bytes, 7, newHash()), hash128(view, 7, newHash())))
})

void test('hashes added in any order can be subtracted in any order', () => {
  const hashes = Array.from({ length: 20 }, (_, at) => hash128(Uint8Array.of(at), 0, newHash()))
  const sum = newHash()
  for (const hash of hashes) addHash(sum, hash)
  const other = newHash()
  for (const hash of [...hashes].reverse()) addHash(other, hash)
  assert.ok(sameHash(sum, other))
  for (const hash of hashes) subtractHash(sum, hash)
  assert.ok(sameHash(sum, newHash()))
})

void test('a stored hash reads back', () => {
  const hash = hash128(Uint8Array.of(1, 2, 3), 0, newHash())
  const bytes = new Uint8Array(30)
  writeHash(hash, bytes, 7)
  assert.ok(sameHash(readHash(bytes, 7, newHash()), hash))
})
