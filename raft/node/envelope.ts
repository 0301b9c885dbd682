import { assert } from '../base/assert.ts'
import type { ProposalId } from '../ports.ts'
import { term } from '../core/types.ts'
import type { Term } from '../core/types.ts'

/*
 * The data of a command entry:
 *
 *   0         8          16                   24             32
 *   | session | sequence | acknowledged below | expected term | payload ...
 *
 * Numbers are whole, below 2^53, eight bytes each, lowest byte first.
 */

/** Bytes before the payload. */
export const envelopeBytes = 32

/** Who proposed a command, under which conditions. Session semantics follow Raft thesis §6.3. */
export type Envelope = {
  /** One life of one proposing process; random. */
  readonly session: number
  /** Ascending within the session, from 1. Two entries of one sequence are two tries of one command. */
  readonly sequence: number
  /**
   * Every lower sequence is settled for its proposer: its outcome may be forgotten, its late tries ignored.
   */
  readonly acknowledgedBelow: number
  /** The command is void unless its entry has this term. */
  readonly expectedTerm: Term
  readonly payload: Uint8Array
}

/** One fresh buffer; the payload is copied into it. */
export function encodeEnvelope(envelope: Envelope): Uint8Array {
  const { payload } = envelope
  const bytes = new Uint8Array(envelopeBytes + payload.byteLength)
  writeNumber(bytes, 0, envelope.session)
  writeNumber(bytes, 8, envelope.sequence)
  writeNumber(bytes, 16, envelope.acknowledgedBelow)
  writeNumber(bytes, 24, envelope.expectedTerm)
  bytes.set(payload, envelopeBytes)
  return bytes
}

/**
 * The payload is a view of `bytes`, not a copy. Only committed entries and our own proposals come here, so a
 * bad one is a bug.
 */
export function decodeEnvelope(bytes: Uint8Array): Envelope {
  assert(bytes.byteLength >= envelopeBytes, 'an envelope has a whole header')
  return {
    session: readNumber(bytes, 0),
    sequence: readNumber(bytes, 8),
    acknowledgedBelow: readNumber(bytes, 16),
    expectedTerm: term(readNumber(bytes, 24)),
    payload: bytes.subarray(envelopeBytes),
  }
}

/** Whether `bytes` from a peer can be decoded at all: the gate of untrusted proposals. */
export function isEnvelope(bytes: Uint8Array): boolean {
  if (bytes.byteLength < envelopeBytes) return false
  for (const at of [0, 8, 16, 24]) {
    // Bits 53 to 63 are zero in every safe number.
    if (byte(bytes, at + 7) !== 0 || byte(bytes, at + 6) > 0x1f) return false
  }
  return true
}

/** Only the name of the proposal. */
export function proposalIdOf(bytes: Uint8Array): ProposalId {
  assert(bytes.byteLength >= envelopeBytes, 'an envelope has a whole header')
  return { session: readNumber(bytes, 0), sequence: readNumber(bytes, 8) }
}

function writeNumber(bytes: Uint8Array, at: number, value: number): void {
  assert(Number.isSafeInteger(value) && value >= 0, `${value} fits an envelope`)
  let low = value >>> 0
  let high = (value - low) / 2 ** 32
  for (let offset = 0; offset < 4; offset++) {
    bytes[at + offset] = low & 0xff
    bytes[at + 4 + offset] = high & 0xff
    low >>>= 8
    high >>>= 8
  }
}

function readNumber(bytes: Uint8Array, at: number): number {
  const high = word(bytes, at + 4)
  assert(high < 2 ** 21, 'a number in an envelope is below 2^53')
  return high * 2 ** 32 + word(bytes, at)
}

function word(bytes: Uint8Array, at: number): number {
  return (
    (byte(bytes, at) |
      (byte(bytes, at + 1) << 8) |
      (byte(bytes, at + 2) << 16) |
      (byte(bytes, at + 3) << 24)) >>>
    0
  )
}

function byte(bytes: Uint8Array, at: number): number {
  return bytes[at] ?? 0
}
