import type { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire'
import { assert, assertNever } from '../../base/assert.ts'
import type { Message, MessageKind, MessageOf, ReadContext } from '../core/message.ts'
import { logIndex, term } from '../core/types.ts'
import type { Entry, NodeId, SnapshotMeta, Term } from '../core/types.ts'
import { reportBytesMax } from '../ports.ts'
import type { PeerMessage, ProposalId } from '../ports.ts'
import { endsOf, readAddress, writeAddress } from './address-codec.ts'
import { readFounding, writeFounding } from './identity-codec.ts'
import type { AddressBody } from './address-codec.ts'
import { checkEntries, readEntries, writeEntries } from './entries-codec.ts'
import type { EntriesKind } from './entries-codec.ts'
import { readEntry, readSnapshotMeta, writeEntry, writeSnapshotMeta } from './log-codec.ts'
import { membershipKinds, readMembership, writeMembership } from './membership-codec.ts'
import type { MembershipKind, MembershipMessage } from './membership-codec.ts'
import { expectEnd, malformed, openMessage, readBytes, readEnd, readWhole } from './wire.ts'
import { skipField, wireType, writeBytes, writeFlag, writeWhole } from './wire.ts'

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
  report: 16,
  'state-wanted': 17,
  'change-wanted': 18,
  'change-answer': 19,
  'transfer-wanted': 20,
  'entries-wanted': 22,
  'entries-sent': 23,
  founding: 21,
  'members-wanted': 24,
  members: 25,
  'transfer-refused': 26,
} satisfies Record<MessageKind | Exclude<PeerMessage['kind'], 'core'>, number>

type WireKind = keyof typeof field
type PlainKind = Exclude<WireKind, MembershipKind | EntriesKind | 'founding'>
/** The messages that the core does not handle. */
type OtherMessage = Exclude<PeerMessage, { readonly kind: 'core' }>

const kindOf: ReadonlyMap<number, WireKind> = new Map(
  (Object.keys(field) as WireKind[]).map((kind) => [field[kind], kind]),
)

/** Returns the oldest version of the protocol that has this message. */
export function protocolOf({ kind }: PeerMessage): number {
  return isMembershipKind(kind) || isEntriesKind(kind) || kind === 'founding' ? 3 : 2
}

/** Limit of the entries or proposals in one message. The limit in bytes is reached before it. */
export const itemsMax = 65_536

/** Writes the body of one `PeerMessage`; the caller frames it. */
export function writePeerMessage(writer: BinaryWriter, peerMessage: PeerMessage): void {
  const message = peerMessage.kind === 'core' ? peerMessage.message : peerMessage
  openMessage(writer, field[message.kind])
  writeAddress(writer, message)
  if (peerMessage.kind === 'core') writeCore(writer, peerMessage.message)
  else writeOther(writer, peerMessage)
  writer.join()
}

function writeOther(writer: BinaryWriter, message: OtherMessage): void {
  if (isMembership(message)) return writeMembership(writer, message)
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
      return writeFlag(writer, 3, message.reason === 'unreadable')
    case 'read-request':
      writeWhole(writer, 2, message.round)
      return writeFlag(writer, 3, message.withHeartbeat)
    case 'read-response':
      writeWhole(writer, 2, message.round)
      if (message.index !== null) writeWhole(writer, 3, message.index)
      return
    case 'report':
      assert(message.bytes.byteLength <= reportBytesMax, 'a report is short')
      return writeBytes(writer, 2, message.bytes)
    case 'state-wanted':
      return writeWhole(writer, 2, message.atLeast)
    case 'entries-wanted':
    case 'entries-sent':
      return writeEntries(writer, message)
    case 'founding':
      return writeFounding(writer, message)
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
      if (message.sentMs !== undefined) writeWhole(writer, 4, message.sentMs)
      return writeFlag(writer, 6, message.quiet === true)
    case 'heartbeat-response':
      if (message.context !== null) writeWhole(writer, 2, message.context)
      writeFlag(writer, 6, message.quiet === true)
      if (message.promise === undefined) return
      writeWhole(writer, 3, message.promise.sentMs)
      return writeWhole(writer, 4, message.promise.promisedMs)
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

/** Writes the values as fields 2, 3 and so on. */
function writeWholes(writer: BinaryWriter, ...values: readonly number[]): void {
  values.forEach((value, at) => writeWhole(writer, at + 2, value))
}

/**
 * Reads one message. The data of entries and proposals are views into the reader's bytes, so
 * keeping one of them keeps the whole frame in memory.
 *
 * @param end where the message ends in the reader's bytes
 */
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
    const bodyEnd = readEnd(reader, head & 7, end)
    if (kind === 'founding') message = readFounding(reader, bodyEnd)
    else if (isMembershipKind(kind)) message = readMembership(reader, kind, bodyEnd)
    else if (isEntriesKind(kind)) message = readEntries(reader, kind, bodyEnd)
    else message = toMessage(kind, readBody(reader, kind, bodyEnd))
  }
  expectEnd(reader, end)
  if (message === null) throw malformed('a message of an unknown kind')
  return message
}

function isMembership(message: OtherMessage): message is MembershipMessage {
  return isMembershipKind(message.kind)
}

function isMembershipKind(kind: string): kind is MembershipKind {
  return membershipKinds.some((known) => known === kind)
}

function isEntriesKind(kind: string): kind is EntriesKind {
  return kind === 'entries-wanted' || kind === 'entries-sent'
}

/** The fields of the plain kinds; null: absent. `two` is the number in field 2, and so on. */
type Body = AddressBody & {
  two: number | null
  three: number | null
  four: number | null
  six: number | null
  entries: Entry[] | null
  proposals: Uint8Array[] | null
  refused: ProposalId[] | null
  snapshot: SnapshotMeta | null
  report: Uint8Array | null
}

/*
 * From here on objects are written property by property: a spread costs a microsecond each time,
 * and these objects are created for every message.
 */

function readBody(reader: BinaryReader, kind: WireKind, end: number): Body {
  const body: Body = {
    from: null,
    to: null,
    term: 0,
    two: null,
    three: null,
    four: null,
    six: null,
    entries: null,
    proposals: null,
    refused: null,
    snapshot: null,
    report: null,
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
        else readList(reader, kind, type, end, body)
        break
      case 3:
        body.three = readWhole(reader, type)
        break
      case 4:
        body.four = readWhole(reader, type)
        break
      case 5:
        body.entries = appended(body.entries, readEntry(reader, readEnd(reader, type, end)))
        break
      case 6:
        body.six = readWhole(reader, type)
        break
      default:
        skipField(reader, head >>> 3, type)
    }
  }
  expectEnd(reader, end)
  return body
}

/** Reads field 2 of the kinds in which it is not a number. */
function readList(reader: BinaryReader, kind: WireKind, type: number, end: number, body: Body): void {
  switch (kind) {
    case 'forward':
      body.proposals = appended(body.proposals, readBytes(reader, type))
      return
    case 'forward-refused':
      body.refused = appended(body.refused, readProposalId(reader, readEnd(reader, type, end)))
      return
    case 'snapshot':
      body.snapshot = readSnapshotMeta(reader, readEnd(reader, type, end))
      return
    case 'report':
      body.report = readBytes(reader, type)
      if (body.report.byteLength > reportBytesMax) throw malformed('a report is too long')
      return
    default:
      throw malformed(`wire type ${type} in field 2 of ${kind}`)
  }
}

function appended<T>(list: T[] | null, item: T): T[] {
  if (list === null) return [item]
  if (list.length >= itemsMax) throw malformed('too many items in one message')
  list.push(item)
  return list
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

function toMessage(kind: PlainKind, body: Body): PeerMessage {
  const { from, to } = endsOf(body)
  const sent = term(body.term)
  switch (kind) {
    case 'forward':
      return { kind, from, to, term: sent, proposals: body.proposals ?? [] }
    case 'forward-refused':
      return {
        kind,
        from,
        to,
        term: sent,
        reason: body.three === null || body.three === 0 ? 'not-now' : 'unreadable',
        proposals: body.refused ?? [],
      }
    case 'read-request':
      return { kind, from, to, term: sent, round: body.two ?? 0, withHeartbeat: (body.three ?? 0) !== 0 }
    case 'read-response': {
      const index = body.three === null ? null : logIndex(body.three)
      return { kind, from, to, term: sent, round: body.two ?? 0, index }
    }
    case 'state-wanted':
      return { kind, from, to, atLeast: logIndex(body.two ?? 0) }
    case 'report':
      // A copy, because a report is kept longer than the frame.
      return { kind, from, to, bytes: Uint8Array.from(body.report ?? []) }
    default:
      return { kind: 'core', message: toCoreMessage(kind, from, to, sent, body) }
  }
}

function toCoreMessage(kind: MessageKind, from: NodeId, to: NodeId, sent: Term, body: Body): Message {
  const two = body.two ?? 0
  const three = body.three ?? 0
  const four = body.four ?? 0
  switch (kind) {
    case 'pre-vote-request':
      return { kind, from, to, term: sent, lastIndex: logIndex(two), lastTerm: term(three) }
    case 'vote-request': {
      const transfer = four !== 0
      return { kind, from, to, term: sent, lastIndex: logIndex(two), lastTerm: term(three), transfer }
    }
    case 'pre-vote-response':
    case 'vote-response':
      return { kind, from, to, term: sent, granted: two !== 0 }
    case 'append-request': {
      const entries = body.entries ?? []
      checkEntries(entries, two, three, sent)
      const [previousIndex, previousTerm, commit] = [logIndex(two), term(three), logIndex(four)]
      return { kind, from, to, term: sent, previousIndex, previousTerm, entries, commit }
    }
    case 'append-accepted':
      return { kind, from, to, term: sent, index: logIndex(two) }
    case 'append-refused': {
      const [hintIndex, hintTerm] = [logIndex(three), term(four)]
      return { kind, from, to, term: sent, index: logIndex(two), hintIndex, hintTerm }
    }
    case 'heartbeat': {
      const [commit, context] = [logIndex(two), readContext(body.three)]
      if (body.four === null) return withQuiet({ kind, from, to, term: sent, commit, context }, body)
      return { kind, from, to, term: sent, commit, context, sentMs: body.four }
    }
    case 'heartbeat-response': {
      const context = readContext(body.two)
      if (body.three === null || body.four === null)
        return withQuiet({ kind, from, to, term: sent, context }, body)
      const promise = { sentMs: body.three, promisedMs: body.four }
      return { kind, from, to, term: sent, context, promise }
    }
    case 'snapshot':
      if (body.snapshot === null) throw malformed('a snapshot message names its snapshot')
      return { kind, from, to, term: sent, snapshot: body.snapshot }
    case 'timeout-now':
      return { kind, from, to, term: sent }
    default:
      assertNever(kind)
  }
}

function withQuiet<Kept extends MessageOf<'heartbeat' | 'heartbeat-response'>>(
  message: Kept,
  body: Body,
): Kept {
  return body.six === null || body.six === 0 ? message : { ...message, quiet: true }
}

function readContext(value: number | null): ReadContext | null {
  // The reader checked that it is a safe whole number; only the brand is missing.
  return value === null ? null : (value as ReadContext)
}
