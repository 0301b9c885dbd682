import type { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire'
import type { PeerIdentity, PeerMessage } from '../ports.ts'
import { endsOf, readAddress } from './address-codec.ts'
import type { AddressBody } from './address-codec.ts'
import {
  expectEnd,
  malformed,
  readEnd,
  readText,
  readWhole,
  skipField,
  writeText,
  writeWhole,
} from './wire.ts'

/* Codec of the identity of members, see `proto/raft.proto`. */

export const logIdBytesMax = 64
export const clusterIdBytesMax = 64

/** Numbers of the phases on the wire, which are never reused. */
export const phaseNumber = {
  gathering: 0,
  agreed: 1,
  founded: 2,
} satisfies Record<PeerIdentity['phase'], number>

/** @throws TransportError `malformed` */
export function phaseOf(number: number): PeerIdentity['phase'] {
  if (number === 0) return 'gathering'
  if (number === 1) return 'agreed'
  if (number === 2) return 'founded'
  throw malformed(`unknown phase ${number} of a founding`)
}

export type FoundingMessage = Extract<PeerMessage, { readonly kind: 'founding' }>

/** Writes everything but the address. */
export function writeFounding(writer: BinaryWriter, { identity }: FoundingMessage): void {
  writeText(writer, 2, identity.logId)
  writeText(writer, 3, identity.clusterId)
  writeWhole(writer, 4, phaseNumber[identity.phase])
}

/** @param end where the message ends in the reader's bytes */
export function readFounding(reader: BinaryReader, end: number): FoundingMessage {
  const body: AddressBody = { from: null, to: null, term: 0 }
  let logId = ''
  let clusterId = ''
  let phase: PeerIdentity['phase'] = 'gathering'
  while (reader.pos < end) {
    const head = reader.uint32()
    const type = head & 7
    if (head >>> 3 === 1) readAddress(reader, readEnd(reader, type, end), body)
    else if (head >>> 3 === 2) logId = readText(reader, type, logIdBytesMax)
    else if (head >>> 3 === 3) clusterId = readText(reader, type, clusterIdBytesMax)
    else if (head >>> 3 === 4) phase = phaseOf(readWhole(reader, type))
    else skipField(reader, head >>> 3, type)
  }
  expectEnd(reader, end)
  const { from, to } = endsOf(body)
  return { kind: 'founding', from, to, identity: { logId, clusterId, phase } }
}
