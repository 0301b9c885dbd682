import { assert } from '../../base/assert.ts'
import type { ProposalId } from '../ports.ts'
import { term } from '../core/types.ts'
import { checksum } from '../log/checksum.ts'
import type { Term } from '../core/types.ts'

/*
 * The data of a command entry:
 *
 *   0          4         12         20                   28             36
 *   | checksum | session | sequence | acknowledged below | expected term | payload ...
 *
 * Numbers are whole, below 2^53, eight bytes each, little-endian. The proposer computes the
 * checksum, a CRC-32 of everything after it, and it stays with the command until it is applied.
 * Changes in transit are detected by TLS, and changes on disk by the checksums of the log; this
 * checksum detects changes in the memory of the members in between.
 */

/** Bytes before the payload. */
export const envelopeBytes = 36

/** Offsets of the numbers within the envelope. */
const at = { session: 4, sequence: 12, acknowledgedBelow: 20, expectedTerm: 28 } as const

/** The proposer of a command, and its conditions. Session semantics follow Raft thesis §6.3. */
export type Envelope = {
  /** Random number of one proposing process. */
  readonly session: number
  /**
   * Ascending within the session, from 1. Two entries with the same sequence are two tries of one
   * command.
   */
  readonly sequence: number
  /**
   * Every lower sequence is settled for its proposer: its outcome may be forgotten, and its late
   * tries ignored.
   */
  readonly acknowledgedBelow: number
  /** The command is void unless its entry has this term. */
  readonly expectedTerm: Term
  readonly payload: Uint8Array
}

/** Returns a new buffer; the payload is copied into it. */
export function encodeEnvelope(envelope: Envelope): Uint8Array {
  const { payload } = envelope
  const bytes = new Uint8Array(envelopeBytes + payload.byteLength)
  writeNumber(bytes, at.session, envelope.session)
  writeNumber(bytes, at.sequence, envelope.sequence)
  writeNumber(bytes, at.acknowledgedBelow, envelope.acknowledgedBelow)
  writeNumber(bytes, at.expectedTerm, envelope.expectedTerm)
  bytes.set(payload, envelopeBytes)
  writeWord(bytes, 0, checksum(bytes.subarray(at.session), 0))
  return bytes
}

/**
 * Decodes the data of a command. The payload is a view of `bytes`, not a copy. The checksum was
 * verified before the entry was written, so an invalid one shows a bug or altered memory.
 */
export function decodeEnvelope(bytes: Uint8Array): Envelope {
  assert(bytes.byteLength >= envelopeBytes, 'an envelope has a whole header')
  assert(isIntact(bytes), 'a command is not altered')
  return {
    session: readNumber(bytes, at.session),
    sequence: readNumber(bytes, at.sequence),
    acknowledgedBelow: readNumber(bytes, at.acknowledgedBelow),
    expectedTerm: term(readNumber(bytes, at.expectedTerm)),
    payload: bytes.subarray(envelopeBytes),
  }
}

/** Returns whether `bytes` are an intact envelope that can be decoded. Never throws. */
export function isEnvelope(bytes: Uint8Array): boolean {
  if (bytes.byteLength < envelopeBytes || !isIntact(bytes)) return false
  for (const place of Object.values(at)) {
    // Bits 53 to 63 are zero in every safe number.
    if (byte(bytes, place + 7) !== 0 || byte(bytes, place + 6) > 0x1f) return false
  }
  return true
}

/** Decodes only the identity of the proposal. */
export function proposalIdOf(bytes: Uint8Array): ProposalId {
  assert(bytes.byteLength >= envelopeBytes, 'an envelope has a whole header')
  return { session: readNumber(bytes, at.session), sequence: readNumber(bytes, at.sequence) }
}

function isIntact(bytes: Uint8Array): boolean {
  return word(bytes, 0) === checksum(bytes.subarray(at.session), 0)
}

function writeNumber(bytes: Uint8Array, place: number, value: number): void {
  assert(Number.isSafeInteger(value) && value >= 0, `${value} fits an envelope`)
  const low = value >>> 0
  writeWord(bytes, place, low)
  writeWord(bytes, place + 4, (value - low) / 2 ** 32)
}

function writeWord(bytes: Uint8Array, place: number, value: number): void {
  for (let offset = 0; offset < 4; offset++) bytes[place + offset] = (value >>> (8 * offset)) & 0xff
}

function readNumber(bytes: Uint8Array, place: number): number {
  const high = word(bytes, place + 4)
  assert(high < 2 ** 21, 'a number in an envelope is below 2^53')
  return high * 2 ** 32 + word(bytes, place)
}

function word(bytes: Uint8Array, place: number): number {
  return (
    (byte(bytes, place) |
      (byte(bytes, place + 1) << 8) |
      (byte(bytes, place + 2) << 16) |
      (byte(bytes, place + 3) << 24)) >>>
    0
  )
}

function byte(bytes: Uint8Array, at: number): number {
  return bytes[at] ?? 0
}
