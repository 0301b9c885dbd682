/*
 * Goal: the envelope of a command keeps its numbers and payload, and untrusted bytes are detected.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { crc32 } from 'node:zlib'
import { SeededRandom } from '../../../../base/random.ts'
import { term } from '../../../../raft/core/types.ts'
import {
  decodeEnvelope,
  encodeEnvelope,
  envelopeBytes,
  isEnvelope,
  proposalIdOf,
} from '../../../../raft/protocol/envelope.ts'

const largest = Number.MAX_SAFE_INTEGER

void test('an envelope survives encoding, up to the largest numbers', () => {
  const random = new SeededRandom(1)
  for (const number of [0, 1, 255, 2 ** 32 - 1, 2 ** 32, 2 ** 40 + 7, largest]) {
    const envelope = {
      session: number,
      sequence: largest - number,
      acknowledgedBelow: number,
      expectedTerm: term(number),
      payload: random.bytes(random.below(50)),
    }
    const bytes = encodeEnvelope(envelope)
    assert.equal(bytes.byteLength, envelopeBytes + envelope.payload.byteLength)
    assert.ok(isEnvelope(bytes))
    assert.deepEqual(decodeEnvelope(bytes), envelope)
    assert.deepEqual(proposalIdOf(bytes), { session: number, sequence: largest - number })
  }
})

void test('the payload is a view, not a copy', () => {
  const bytes = encodeEnvelope({
    ...{ session: 1, sequence: 2, acknowledgedBelow: 3, expectedTerm: term(4) },
    payload: new Uint8Array([5]),
  })
  assert.equal(decodeEnvelope(bytes).payload.buffer, bytes.buffer)
})

void test('bytes that are not an intact envelope are detected before they are decoded', () => {
  assert.ok(!isEnvelope(new Uint8Array(envelopeBytes - 1)))
  const bytes = encodeEnvelope({
    ...{ session: 1, sequence: 2, acknowledgedBelow: 3, expectedTerm: term(4) },
    payload: new Uint8Array([5, 6, 7]),
  })
  for (let at = 0; at < bytes.length; at++) {
    for (let bit = 0; bit < 8; bit++) {
      const changed = bytes.slice()
      changed[at] = (changed[at] ?? 0) ^ (1 << bit)
      assert.ok(!isEnvelope(changed), `byte ${at}, bit ${bit}`)
      assert.throws(() => decodeEnvelope(changed), { name: 'BrokenInvariant' })
    }
  }
})

void test('a number of 2^53 is invalid, although its checksum is right', () => {
  for (const at of [4, 12, 20, 28]) {
    const bytes = new Uint8Array(envelopeBytes)
    bytes[at + 6] = 0x20
    new DataView(bytes.buffer).setUint32(0, crc32(bytes.subarray(4)), true)
    assert.ok(!isEnvelope(bytes))
    assert.throws(() => decodeEnvelope(bytes), { name: 'BrokenInvariant' })
  }
})
