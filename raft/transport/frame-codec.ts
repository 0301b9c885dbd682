import { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire'
import { assert, assertNever } from '../../base/assert.ts'
import { term } from '../core/types.ts'
import type { NodeId, SnapshotMeta, Term } from '../core/types.ts'
import type { PeerIdentity, PeerMessage, SnapshotHeader } from '../ports.ts'
import { clusterIdBytesMax, logIdBytesMax, phaseOf, phaseNumber } from './identity-codec.ts'
import { readSnapshotMeta, writeSnapshotMeta } from './log-codec.ts'
import { readPeerMessage, writePeerMessage } from './message-codec.ts'
import { frameMessagesMax } from './options.ts'
import { decoding, expectEnd, malformed, openMessage, readBytes, readEnd, readId, readText } from './wire.ts'
import {
  readFlag,
  readWhole,
  skipField,
  writeBytes,
  writeFlag,
  writeId,
  writeText,
  writeWhole,
} from './wire.ts'

/** The first frame of every stream: the caller, and the member that it expects. */
export type Hello = {
  /**
   * The oldest version that the caller supports; the only one that callers before version 3 send.
   */
  readonly protocol: number
  /** The newest version that the caller supports; 0 from callers before version 3. */
  readonly protocolMax: number
  readonly cluster: string
  readonly from: NodeId
  readonly to: NodeId
  /** The identity of the caller. */
  readonly identity: PeerIdentity
  /** See `GrpcTransportOptions`. */
  readonly founding: string
  /** Random number of the calling process; 0 from callers before version 3. */
  readonly process: number
}

/** The response to an accepted hello. */
export type Welcome = {
  /** The version that both will use. */
  readonly protocol: number
  /** The identity of the receiver. */
  readonly identity: PeerIdentity
}

export type LinkFrame =
  | { readonly kind: 'hello'; readonly hello: Hello }
  | { readonly kind: 'messages'; readonly messages: readonly PeerMessage[] }

export type SnapshotFrame =
  | {
      readonly kind: 'opening'
      readonly hello: Hello
      readonly term: Term
      readonly purpose: SnapshotHeader['purpose']
      readonly snapshot: SnapshotMeta
    }
  | { readonly kind: 'chunk'; readonly bytes: Uint8Array }
  | { readonly kind: 'trailer'; readonly bytes: number; readonly sha256: Uint8Array }

const clusterBytesMax = 255
const foundingBytesMax = 64

/* ------------------------------------------------------------------ links */

export function encodeHelloFrame(hello: Hello): Uint8Array {
  const writer = new BinaryWriter()
  openMessage(writer, 1)
  writeHello(writer, hello)
  writer.join()
  return writer.finish()
}

/** @param writer an empty writer; it is empty again afterwards, and its memory is reused */
export function encodeMessagesFrame(writer: BinaryWriter, messages: readonly PeerMessage[]): Uint8Array {
  assert(messages.length <= frameMessagesMax, 'a frame holds a bounded number of messages')
  for (const message of messages) {
    openMessage(writer, 2)
    writePeerMessage(writer, message)
    writer.join()
  }
  return writer.finish()
}

/** @throws TransportError `malformed` */
export function decodeLinkFrame(bytes: Uint8Array): LinkFrame {
  return decoding('a frame', () => {
    const reader = new BinaryReader(bytes)
    const messages: PeerMessage[] = []
    let hello: Hello | null = null
    while (reader.pos < reader.len) {
      const head = reader.uint32()
      if (head >>> 3 === 1) {
        hello = readHello(reader, readEnd(reader, head & 7, reader.len))
      } else if (head >>> 3 === 2) {
        if (messages.length >= frameMessagesMax) throw malformed('too many messages in one frame')
        messages.push(readPeerMessage(reader, readEnd(reader, head & 7, reader.len)))
      } else {
        skipField(reader, head >>> 3, head & 7)
      }
    }
    expectEnd(reader, bytes.byteLength)
    if (hello === null) return { kind: 'messages', messages }
    if (messages.length > 0) throw malformed('a frame with a hello must not contain messages')
    return { kind: 'hello', hello }
  })
}

export function encodeWelcome({ protocol, identity }: Welcome): Uint8Array {
  const writer = new BinaryWriter()
  writeWhole(writer, 1, protocol)
  writeText(writer, 2, identity.logId)
  writeText(writer, 3, identity.clusterId)
  writeWhole(writer, 4, phaseNumber[identity.phase])
  return writer.finish()
}

/** @throws TransportError `malformed` */
export function decodeWelcome(bytes: Uint8Array): Welcome {
  return decoding('a welcome', () => {
    const reader = new BinaryReader(bytes)
    let protocol = 0
    let logId = ''
    let clusterId = ''
    let phase: PeerIdentity['phase'] = 'gathering'
    while (reader.pos < reader.len) {
      const head = reader.uint32()
      if (head >>> 3 === 1) protocol = readWhole(reader, head & 7)
      else if (head >>> 3 === 2) logId = readText(reader, head & 7, logIdBytesMax)
      else if (head >>> 3 === 3) clusterId = readText(reader, head & 7, clusterIdBytesMax)
      else if (head >>> 3 === 4) phase = phaseOf(readWhole(reader, head & 7))
      else skipField(reader, head >>> 3, head & 7)
    }
    return { protocol, identity: { logId, clusterId, phase } }
  })
}

function writeHello(writer: BinaryWriter, hello: Hello): void {
  writeWhole(writer, 1, hello.protocol)
  writeText(writer, 2, hello.cluster)
  writeId(writer, 3, hello.from)
  writeId(writer, 4, hello.to)
  writeText(writer, 5, hello.identity.logId)
  writeText(writer, 6, hello.founding)
  writeWhole(writer, 7, hello.protocolMax)
  writeWhole(writer, 8, hello.process)
  writeText(writer, 11, hello.identity.clusterId)
  writeWhole(writer, 12, phaseNumber[hello.identity.phase])
}

function readHello(reader: BinaryReader, end: number): Hello {
  let protocol = 0
  let protocolMax = 0
  let process = 0
  let clusterId = ''
  let phase: PeerIdentity['phase'] = 'gathering'
  let logId = ''
  let founding = ''
  let cluster = ''
  let from: NodeId | null = null
  let to: NodeId | null = null
  while (reader.pos < end) {
    const head = reader.uint32()
    const type = head & 7
    switch (head >>> 3) {
      case 1:
        protocol = readWhole(reader, type)
        break
      case 2:
        cluster = readText(reader, type, clusterBytesMax)
        break
      case 3:
        from = readId(reader, type)
        break
      case 4:
        to = readId(reader, type)
        break
      case 5:
        logId = readText(reader, type, logIdBytesMax)
        break
      case 6:
        founding = readText(reader, type, foundingBytesMax)
        break
      case 7:
        protocolMax = readWhole(reader, type)
        break
      case 8:
        process = readWhole(reader, type)
        break
      case 11:
        clusterId = readText(reader, type, clusterIdBytesMax)
        break
      case 12:
        phase = phaseOf(readWhole(reader, type))
        break
      default:
        skipField(reader, head >>> 3, type)
    }
  }
  expectEnd(reader, end)
  if (from === null || to === null) throw malformed('a hello needs a caller and a receiver')
  const identity = { logId, clusterId, phase }
  return { protocol, protocolMax, cluster, from, to, identity, founding, process }
}

/* ------------------------------------------------------------------ snapshots */

export function encodeSnapshotFrame(frame: SnapshotFrame): Uint8Array {
  const writer = new BinaryWriter()
  switch (frame.kind) {
    case 'opening':
      openMessage(writer, 1)
      openMessage(writer, 1)
      writeHello(writer, frame.hello)
      writer.join()
      writeWhole(writer, 2, frame.term)
      openMessage(writer, 3)
      writeSnapshotMeta(writer, frame.snapshot)
      writer.join()
      writeFlag(writer, 4, frame.purpose === 'repair')
      writer.join()
      break
    case 'chunk':
      writeBytes(writer, 2, frame.bytes)
      break
    case 'trailer':
      openMessage(writer, 3)
      writeWhole(writer, 1, frame.bytes)
      writeBytes(writer, 2, frame.sha256)
      writer.join()
      break
    default:
      assertNever(frame)
  }
  return writer.finish()
}

/**
 * Decodes a frame. The bytes of a chunk are a view into `bytes`.
 *
 * @throws TransportError `malformed`
 */
export function decodeSnapshotFrame(bytes: Uint8Array): SnapshotFrame {
  return decoding('a snapshot frame', () => {
    const reader = new BinaryReader(bytes)
    let frame: SnapshotFrame | null = null
    while (reader.pos < reader.len) {
      const head = reader.uint32()
      const [field, type] = [head >>> 3, head & 7]
      if (field > 3) {
        skipField(reader, field, type)
        continue
      }
      if (frame !== null) throw malformed('a snapshot frame is of one kind')
      if (field === 2) frame = { kind: 'chunk', bytes: readBytes(reader, type) }
      else if (field === 1) frame = readOpening(reader, readEnd(reader, type, reader.len))
      else if (field === 3) frame = readTrailer(reader, readEnd(reader, type, reader.len))
      else throw malformed('field number 0')
    }
    if (frame === null) throw malformed('an empty snapshot frame')
    return frame
  })
}

function readOpening(reader: BinaryReader, end: number): SnapshotFrame {
  let hello: Hello | null = null
  let senderTerm = 0
  let purpose: SnapshotHeader['purpose'] = 'catch-up'
  let snapshot: SnapshotMeta | null = null
  while (reader.pos < end) {
    const head = reader.uint32()
    if (head >>> 3 === 1) hello = readHello(reader, readEnd(reader, head & 7, end))
    else if (head >>> 3 === 2) senderTerm = readWhole(reader, head & 7)
    else if (head >>> 3 === 3) snapshot = readSnapshotMeta(reader, readEnd(reader, head & 7, end))
    else if (head >>> 3 === 4) purpose = readFlag(reader, head & 7) ? 'repair' : 'catch-up'
    else skipField(reader, head >>> 3, head & 7)
  }
  expectEnd(reader, end)
  if (hello === null || snapshot === null)
    throw malformed('a snapshot opening needs a hello and the metadata of the snapshot')
  return { kind: 'opening', hello, term: term(senderTerm), purpose, snapshot }
}

function readTrailer(reader: BinaryReader, end: number): SnapshotFrame {
  let bytes = 0
  let sha256 = new Uint8Array()
  while (reader.pos < end) {
    const head = reader.uint32()
    if (head >>> 3 === 1) bytes = readWhole(reader, head & 7)
    else if (head >>> 3 === 2) sha256 = Uint8Array.from(readBytes(reader, head & 7))
    else skipField(reader, head >>> 3, head & 7)
  }
  expectEnd(reader, end)
  if (sha256.byteLength !== 32) throw malformed('a checksum has 32 bytes')
  return { kind: 'trailer', bytes, sha256 }
}
