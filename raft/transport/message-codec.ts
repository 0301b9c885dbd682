import { BinaryReader } from '@bufbuild/protobuf/wire'
import type { BinaryWriter } from '@bufbuild/protobuf/wire'
import { assert, assertNever } from '../base/assert.ts'
import type { Message, MessageKind, ReadContext } from '../core/message.ts'
import { logIndex, term } from '../core/types.ts'
import type { Entry, NodeId, SnapshotMeta, Term } from '../core/types.ts'
import type { PeerMessage, ProposalId } from '../ports.ts'
import { readEntry, readSnapshotMeta, writeEntry, writeSnapshotMeta } from './log-codec.ts'
import { decoding, expectEnd, malformed, openMessage, readBytes, readEnd, readId, readWhole } from './wire.ts'
import { skipField, wireType, writeBytes, writeFlag, writeId, writeWhole } from './wire.ts'

/** Field numbers of `PeerMessage` in `proto/raft.proto`. */
const field = {
  forward: 1,
  'forward-refused': 2,
  'read-request': 3,
  'read-response': 4,
  'pre-vote-request': 5,
  'pre-vote-response': 6,
  'vote-request': 7,
  'vote-response': 8,
  'append-request': 9,
  'append-accepted': 10,
  'append-refused': 11,
  heartbeat: 12,
  'heartbeat-response': 13,
  snapshot: 14,
  'timeout-now': 15,
} satisfies Record<MessageKind | Exclude<PeerMessage['kind'], 'core'>, number>

type WireKind = keyof typeof field
type ShellMessage = Exclude<PeerMessage, { readonly kind: 'core' }>

const kindOf: ReadonlyMap<number, WireKind> = new Map(
  (Object.keys(field) as WireKind[]).map((kind) => [field[kind], kind]),
)

/** Entries of one append, proposals of one forward. An entry of the smallest size counts 32 bytes in a window. */
export const itemsMax = 65_536

/* ------------------------------------------------------------------ out */

/** Writes the body of one `PeerMessage`; the caller frames it. */
export function writePeerMessage(writer: BinaryWriter, peerMessage: PeerMessage): void {
  const message = peerMessage.kind === 'core' ? peerMessage.message : peerMessage
  openMessage(writer, field[message.kind])
  openMessage(writer, 1)
  writeId(writer, 1, message.from)
  writeId(writer, 2, message.to)
  writeWhole(writer, 3, message.term)
  writer.join()
  if (peerMessage.kind === 'core') writeCore(writer, peerMessage.message)
  else writeShell(writer, peerMessage)
  writer.join()
}

function writeShell(writer: BinaryWriter, message: ShellMessage): void {
  switch (message.kind) {
    case 'forward':
      assert(message.proposals.length <= itemsMax, 'a forward holds a bounded number of proposals')
      for (const proposal of message.proposals) writeBytes(writer, 2, proposal)
      return
    case 'forward-refused':
      assert(message.proposals.length <= itemsMax, 'a refusal names a bounded number of proposals')
      for (const { session, sequence } of message.proposals) {
        openMessage(writer, 2)
        writeWhole(writer, 1, session)
        writeWhole(writer, 2, sequence)
        writer.join()
      }
      return
    case 'read-request':
      return writeWhole(writer, 2, message.round)
    case 'read-response':
      writeWhole(writer, 2, message.round)
      if (message.index !== null) writeWhole(writer, 3, message.index)
      return
    default:
      assertNever(message)
  }
}

function writeCore(writer: BinaryWriter, message: Message): void {
  switch (message.kind) {
    case 'pre-vote-request':
      return writeWholes(writer, message.lastIndex, message.lastTerm)
    case 'vote-request':
      writeWholes(writer, message.lastIndex, message.lastTerm)
      return writeFlag(writer, 4, message.transfer)
    case 'pre-vote-response':
    case 'vote-response':
      return writeFlag(writer, 2, message.granted)
    case 'append-request':
      writeWholes(writer, message.previousIndex, message.previousTerm, message.commit)
      assert(message.entries.length <= itemsMax, 'an append holds a bounded number of entries')
      for (const entry of message.entries) {
        openMessage(writer, 5)
        writeEntry(writer, entry)
        writer.join()
      }
      return
    case 'append-accepted':
      return writeWholes(writer, message.index)
    case 'append-refused':
      return writeWholes(writer, message.index, message.hintIndex, message.hintTerm)
    case 'heartbeat':
      writeWholes(writer, message.commit)
      if (message.context !== null) writeWhole(writer, 3, message.context)
      return
    case 'heartbeat-response':
      if (message.context !== null) writeWhole(writer, 2, message.context)
      return
    case 'snapshot':
      openMessage(writer, 2)
      writeSnapshotMeta(writer, message.snapshot)
      writer.join()
      return
    case 'timeout-now':
      return
    default:
      assertNever(message)
  }
}

/** Fields 2 and up, in order. */
function writeWholes(writer: BinaryWriter, ...values: readonly number[]): void {
  values.forEach((value, at) => writeWhole(writer, at + 2, value))
}

/* ------------------------------------------------------------------ in */

/**
 * Data of entries and proposals are views into `bytes`: whoever keeps one keeps the whole frame.
 *
 * @throws TransportFailure `malformed`
 */
export function decodePeerMessage(bytes: Uint8Array): PeerMessage {
  return decoding('a peer message', () => readPeerMessage(new BinaryReader(bytes), bytes.byteLength))
}

/** @param end where the message ends in the reader's bytes */
export function readPeerMessage(reader: BinaryReader, end: number): PeerMessage {
  let message: PeerMessage | null = null
  while (reader.pos < end) {
    const head = reader.uint32()
    const kind = kindOf.get(head >>> 3)
    if (kind === undefined) {
      skipField(reader, head >>> 3, head & 7)
      continue
    }
    if (message !== null) throw malformed('a message is of one kind')
    message = toMessage(kind, readBody(reader, kind, readEnd(reader, head & 7, end)))
  }
  expectEnd(reader, end)
  if (message === null) throw malformed('a message of an unknown kind')
  return message
}

/** Every field any kind has. Numbers are fields 2 to 4; null means absent. */
type Body = {
  from: NodeId | null
  to: NodeId | null
  term: number
  two: number | null
  three: number | null
  four: number | null
  readonly entries: Entry[]
  readonly proposals: Uint8Array[]
  readonly refused: ProposalId[]
  snapshot: SnapshotMeta | null
}

function readBody(reader: BinaryReader, kind: WireKind, end: number): Body {
  const body: Body = {
    ...{ from: null, to: null, term: 0, two: null, three: null, four: null, snapshot: null },
    ...{ entries: [], proposals: [], refused: [] },
  }
  while (reader.pos < end) {
    const head = reader.uint32()
    const type = head & 7
    switch (head >>> 3) {
      case 1:
        readAddress(reader, readEnd(reader, type, end), body)
        break
      case 2:
        if (type === wireType.varint) body.two = readWhole(reader, type)
        else readList(reader, kind, { type, end, body })
        break
      case 3:
        body.three = readWhole(reader, type)
        break
      case 4:
        body.four = readWhole(reader, type)
        break
      case 5:
        bounded(body.entries)
        body.entries.push(readEntry(reader, readEnd(reader, type, end)))
        break
      default:
        skipField(reader, head >>> 3, type)
    }
  }
  expectEnd(reader, end)
  return body
}

/** Field 2 of the kinds where it is no number. */
function readList(
  reader: BinaryReader,
  kind: WireKind,
  at: { readonly type: number; readonly end: number; readonly body: Body },
): void {
  switch (kind) {
    case 'forward':
      bounded(at.body.proposals)
      at.body.proposals.push(readBytes(reader, at.type))
      return
    case 'forward-refused':
      bounded(at.body.refused)
      at.body.refused.push(readProposalId(reader, readEnd(reader, at.type, at.end)))
      return
    case 'snapshot':
      at.body.snapshot = readSnapshotMeta(reader, readEnd(reader, at.type, at.end))
      return
    default:
      throw malformed(`wire type ${at.type} in field 2 of ${kind}`)
  }
}

function bounded(list: readonly unknown[]): void {
  if (list.length >= itemsMax) throw malformed('too many items in one message')
}

function readAddress(reader: BinaryReader, end: number, into: Body): void {
  while (reader.pos < end) {
    const head = reader.uint32()
    if (head >>> 3 === 1) into.from = readId(reader, head & 7)
    else if (head >>> 3 === 2) into.to = readId(reader, head & 7)
    else if (head >>> 3 === 3) into.term = readWhole(reader, head & 7)
    else skipField(reader, head >>> 3, head & 7)
  }
  expectEnd(reader, end)
}

function readProposalId(reader: BinaryReader, end: number): ProposalId {
  let session = 0
  let sequence = 0
  while (reader.pos < end) {
    const head = reader.uint32()
    if (head >>> 3 === 1) session = readWhole(reader, head & 7)
    else if (head >>> 3 === 2) sequence = readWhole(reader, head & 7)
    else skipField(reader, head >>> 3, head & 7)
  }
  expectEnd(reader, end)
  return { session, sequence }
}

function toMessage(kind: WireKind, body: Body): PeerMessage {
  const { from, to } = body
  if (from === null || to === null) throw malformed('a message says who speaks to whom')
  const address = { from, to, term: term(body.term) }
  switch (kind) {
    case 'forward':
      return { ...address, kind, proposals: body.proposals }
    case 'forward-refused':
      return { ...address, kind, proposals: body.refused }
    case 'read-request':
      return { ...address, kind, round: body.two ?? 0 }
    case 'read-response':
      return {
        ...address,
        kind,
        round: body.two ?? 0,
        index: body.three === null ? null : logIndex(body.three),
      }
    default:
      return { kind: 'core', message: toCoreMessage(kind, address, body) }
  }
}

type Address = { readonly from: NodeId; readonly to: NodeId; readonly term: Term }

function toCoreMessage(kind: MessageKind, address: Address, body: Body): Message {
  const [two, three, four] = [body.two ?? 0, body.three ?? 0, body.four ?? 0]
  switch (kind) {
    case 'pre-vote-request':
      return { ...address, kind, lastIndex: logIndex(two), lastTerm: term(three) }
    case 'vote-request':
      return { ...address, kind, lastIndex: logIndex(two), lastTerm: term(three), transfer: four !== 0 }
    case 'pre-vote-response':
    case 'vote-response':
      return { ...address, kind, granted: two !== 0 }
    case 'append-request': {
      checkEntries(body.entries, { index: two, term: three }, address.term)
      const previous = { previousIndex: logIndex(two), previousTerm: term(three) }
      return { ...address, kind, ...previous, commit: logIndex(four), entries: body.entries }
    }
    case 'append-accepted':
      return { ...address, kind, index: logIndex(two) }
    case 'append-refused':
      return { ...address, kind, index: logIndex(two), hintIndex: logIndex(three), hintTerm: term(four) }
    case 'heartbeat':
      return { ...address, kind, commit: logIndex(two), context: readContext(body.three) }
    case 'heartbeat-response':
      return { ...address, kind, context: readContext(body.two) }
    case 'snapshot':
      if (body.snapshot === null) throw malformed('a snapshot message names its snapshot')
      return { ...address, kind, snapshot: body.snapshot }
    case 'timeout-now':
      return { ...address, kind }
    default:
      assertNever(kind)
  }
}

/** Consecutive after `previous`, terms never falling and never beyond the sender's. */
function checkEntries(
  entries: readonly Entry[],
  previous: { readonly index: number; readonly term: number },
  senderTerm: number,
): void {
  let { index, term: lastTerm } = previous
  for (const entry of entries) {
    if (entry.index !== index + 1) throw malformed('entries are not consecutive')
    if (entry.term < lastTerm) throw malformed('terms of entries fall')
    index = entry.index
    lastTerm = entry.term
  }
  if (lastTerm > senderTerm) throw malformed('an entry is of a later term than its sender')
}

function readContext(value: number | null): ReadContext | null {
  // Checked whole and safe by the reader; only its brand is missing.
  return value === null ? null : (value as ReadContext)
}
