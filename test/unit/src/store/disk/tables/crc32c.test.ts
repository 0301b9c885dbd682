/*
 * Goal: the checksum is CRC-32C.
 * Method: the vectors of RFC 3720 B.4 and the standard check value; all lengths below 100
 * compared with the bitwise definition.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SeededRandom } from '../../../../../../base/random.ts'
import { crc32c } from '../../../../../../src/store/disk/tables/crc32c.ts'

void test('the checksum matches RFC 3720 B.4 and the check value', () => {
  assert.equal(crc32c(new Uint8Array(32)), 0x8a9136aa)
  assert.equal(crc32c(new Uint8Array(32).fill(0xff)), 0x62a8ab43)
  assert.equal(crc32c(Uint8Array.from({ length: 32 }, (_, at) => at)), 0x46dd794e)
  assert.equal(crc32c(Uint8Array.from({ length: 32 }, (_, at) => 31 - at)), 0x113fdb5c)
  assert.equal(crc32c(Buffer.from('123456789')), 0xe3069283)
  assert.equal(crc32c(new Uint8Array(0)), 0)
})

void test('the checksum is right for every length below 100 and every alignment', () => {
  const bytes = new SeededRandom(3).bytes(100)
  for (let begin = 0; begin < 9; begin++) {
    for (let end = begin; end < bytes.length; end++) {
      const part = bytes.subarray(begin, end)
      assert.equal(crc32c(part), bitByBit(part), `${begin} to ${end}`)
    }
  }
})

function bitByBit(bytes: Uint8Array): number {
  let crc = 0xffffffff
  for (const byte of bytes) {
    crc ^= byte
    for (let bit = 0; bit < 8; bit++) crc = (crc & 1) === 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1
  }
  return (crc ^ 0xffffffff) >>> 0
}
