import type { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire'
import { assertNever } from '../../base/assert.ts'
import type { ChangeRefusal, MemberChange } from '../core/member-change.ts'
import { logIndex, noIndex } from '../core/types.ts'
import type { Configuration, MemberInfo, MemberRole, NodeId } from '../core/types.ts'
import { refusalBytesMax } from '../ports.ts'
import type { MembershipAnswer, PeerMessage, TransferRefusal } from '../ports.ts'
import { endsOf, readAddress } from './address-codec.ts'
import type { AddressBody } from './address-codec.ts'
import { readConfiguration, readMember, readRole, roleNumber, writeConfiguration } from './log-codec.ts'
import { textBytesMax, writeMember } from './log-codec.ts'
import { expectEnd, malformed, openMessage, readEnd, readId, readText, readWhole, skipField } from './wire.ts'
import { writeId, writeText, writeWhole } from './wire.ts'

/* Codec of membership changes, see `proto/raft.proto`. */

export const membershipKinds = [
  ...(['change-wanted', 'change-answer', 'transfer-wanted', 'members-wanted', 'members'] as const),
  'transfer-refused',
] as const
export type MembershipKind = (typeof membershipKinds)[number]
export type MembershipMessage = Extract<PeerMessage, { readonly kind: MembershipKind }>

/** Numbers of the refusals on the wire, which are never reused. */
const refusalNumber = {
  'name-taken': 1,
  'id-taken': 2,
  'unknown-member': 3,
  'replaced-unknown': 4,
  'replaces-pinned': 5,
  'last-voter': 6,
  'below-live-quorum': 7,
  'not-caught-up': 8,
  'too-many-members': 9,
  'change-pending': 10,
  'term-unsettled': 11,
  'address-taken': 12,
  impossible: 13,
} satisfies Record<ChangeRefusal, number>

const refusalOf: ReadonlyMap<number, ChangeRefusal> = new Map(
  (Object.keys(refusalNumber) as ChangeRefusal[]).map((refusal) => [refusalNumber[refusal], refusal]),
)

const transferNumber = {
  'not-a-voter': 1,
  'target-silent': 2,
  'target-behind': 3,
  'target-declined': 4,
} satisfies Record<TransferRefusal, number>

const transferRefusalOf: ReadonlyMap<number, TransferRefusal> = new Map(
  (Object.keys(transferNumber) as TransferRefusal[]).map((reason) => [transferNumber[reason], reason]),
)

/* ------------------------------------------------------------------ encoding */

/** Writes everything but the address. */
export function writeMembership(writer: BinaryWriter, message: MembershipMessage): void {
  switch (message.kind) {
    case 'change-wanted':
      writeWhole(writer, 2, message.round)
      openMessage(writer, 3)
      writeChange(writer, message.change)
      writer.join()
      return
    case 'change-answer':
      writeWhole(writer, 2, message.round)
      return writeAnswer(writer, message.answer)
    case 'transfer-wanted':
      writeId(writer, 2, message.target)
      return writeWhole(writer, 3, message.round)
    case 'transfer-refused':
      writeWhole(writer, 2, message.round)
      return writeWhole(writer, 3, transferNumber[message.reason])
    case 'members-wanted':
      return writeWhole(writer, 2, message.index)
    case 'members':
      writeWhole(writer, 2, message.index)
      openMessage(writer, 3)
      writeConfiguration(writer, message.configuration)
      writer.join()
      return
    default:
      assertNever(message)
  }
}

function writeChange(writer: BinaryWriter, change: MemberChange): void {
  switch (change.kind) {
    case 'add':
      openMessage(writer, 1)
      writeMember(writer, { ...change.member, role: 'learner' })
      writer.join()
      return writeWhole(writer, 6, change.basedOn)
    case 'remove':
      return writeId(writer, 2, change.id)
    case 'set-role':
      openMessage(writer, 3)
      writeId(writer, 1, change.id)
      writeWhole(writer, 2, roleNumber[change.role])
      writer.join()
      return
    case 'move':
      openMessage(writer, 4)
      writeId(writer, 1, change.id)
      if (change.peerAddress !== null) writeText(writer, 2, change.peerAddress)
      if (change.clientAddress !== null) writeText(writer, 3, change.clientAddress)
      writer.join()
      return
    case 'promote':
      return writeId(writer, 5, change.id)
    default:
      assertNever(change)
  }
}

function writeAnswer(writer: BinaryWriter, answer: MembershipAnswer): void {
  switch (answer.kind) {
    case 'later':
      return
    case 'refused':
      openMessage(writer, 3)
      writeWhole(writer, 1, refusalNumber[answer.reason])
      writeText(writer, 2, truncated(answer.message, refusalBytesMax))
      writer.join()
      return
    case 'done':
      openMessage(writer, 4)
      writeWhole(writer, 1, answer.index)
      openMessage(writer, 2)
      writeConfiguration(writer, answer.configuration)
      writer.join()
      writer.join()
      return
    default:
      assertNever(answer)
  }
}

/**
 * Returns the beginning of a text that may list the names of many members.
 *
 * @param bytesMax of UTF-8
 */
function truncated(text: string, bytesMax: number): string {
  if (text.length * 3 <= bytesMax) return text
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(bytesMax))
  return text.slice(0, read)
}

/* ------------------------------------------------------------------ decoding */

/**
 * All fields of these kinds of messages, except the address. `round` is also the index of
 * `members-wanted` and `members`, which has the same field number.
 */
type Body = {
  round: number
  target: NodeId | null
  transferRefusal: TransferRefusal | undefined
  change: MemberChange | null
  answer: MembershipAnswer | null
  configuration: Configuration | null
}

/**
 * @param end where the message ends in the reader's bytes
 * @throws TransportError `malformed`
 */
export function readMembership(reader: BinaryReader, kind: MembershipKind, end: number): MembershipMessage {
  const address: AddressBody = { from: null, to: null, term: 0 }
  const body: Body = {
    round: 0,
    target: null,
    transferRefusal: undefined,
    change: null,
    answer: null,
    configuration: null,
  }
  while (reader.pos < end) {
    const head = reader.uint32()
    const [field, type] = [head >>> 3, head & 7]
    if (field === 1) readAddress(reader, readEnd(reader, type, end), address)
    else if (field === 2 && kind === 'transfer-wanted') body.target = readId(reader, type)
    else if (field === 2 || (field === 3 && kind === 'transfer-wanted')) body.round = readWhole(reader, type)
    else if (field === 3 && kind === 'transfer-refused')
      body.transferRefusal = transferRefusalOf.get(readWhole(reader, type))
    else if (field === 3 && kind === 'change-wanted')
      body.change = readChange(reader, readEnd(reader, type, end))
    else if (field === 3 && kind === 'change-answer')
      body.answer = readRefusal(reader, readEnd(reader, type, end))
    else if (field === 3 && kind === 'members')
      body.configuration = readConfiguration(reader, readEnd(reader, type, end))
    else if (field === 4 && kind === 'change-answer')
      body.answer = readDone(reader, readEnd(reader, type, end))
    else skipField(reader, field, type)
  }
  expectEnd(reader, end)
  return toMessage(kind, endsOf(address), body)
}

function toMessage(
  kind: MembershipKind,
  { from, to }: ReturnType<typeof endsOf>,
  { round, target, transferRefusal, change, answer, configuration }: Body,
): MembershipMessage {
  switch (kind) {
    case 'change-wanted':
      if (change === null) throw malformed('a request needs a change')
      return { kind, from, to, round, change }
    case 'change-answer':
      return { kind, from, to, round, answer: answer ?? { kind: 'later' } }
    case 'transfer-wanted':
      if (target === null) throw malformed('a transfer names its target')
      return { kind, from, to, round, target }
    case 'transfer-refused':
      if (transferRefusal === undefined) throw malformed('a transfer refused for an unknown reason')
      return { kind, from, to, round, reason: transferRefusal }
    case 'members-wanted':
      return { kind, from, to, index: logIndex(round) }
    case 'members':
      if (configuration === null) throw malformed('a list of members needs a configuration')
      return { kind, from, to, index: logIndex(round), configuration }
    default:
      assertNever(kind)
  }
}

function readChange(reader: BinaryReader, end: number): MemberChange {
  let change: MemberChange | null = null
  // Absent in requests of earlier versions: then the addition is refused if the members have ever
  // changed.
  let basedOn = 0
  while (reader.pos < end) {
    const head = reader.uint32()
    const [field, type] = [head >>> 3, head & 7]
    if (field === 6) {
      basedOn = readWhole(reader, type)
      continue
    }
    if (field > 6) {
      skipField(reader, field, type)
      continue
    }
    if (change !== null) throw malformed('a change is of one kind')
    if (field === 1) change = toAdd(readMember(reader, readEnd(reader, type, end)))
    else if (field === 2) change = { kind: 'remove', id: readId(reader, type) }
    else if (field === 3) change = readSetRole(reader, readEnd(reader, type, end))
    else if (field === 4) change = readMove(reader, readEnd(reader, type, end))
    else if (field === 5) change = { kind: 'promote', id: readId(reader, type) }
    else throw malformed('field number 0')
  }
  expectEnd(reader, end)
  if (change === null) throw malformed('a change of an unknown kind')
  return change.kind === 'add' ? { ...change, basedOn: logIndex(basedOn) } : change
}

function toAdd(info: MemberInfo): MemberChange {
  const { id, name, wantedRole, peerAddress, clientAddress, version, featureLevel, replaces, addedMs } = info
  const facts = { peerAddress, clientAddress, version, featureLevel, replaces, addedMs }
  return { kind: 'add', member: { id, name, wantedRole, ...facts }, basedOn: noIndex }
}

function readSetRole(reader: BinaryReader, end: number): MemberChange {
  let id: NodeId | null = null
  let role: MemberRole | null = null
  while (reader.pos < end) {
    const head = reader.uint32()
    if (head >>> 3 === 1) id = readId(reader, head & 7)
    else if (head >>> 3 === 2) role = readRole(reader, head & 7)
    else skipField(reader, head >>> 3, head & 7)
  }
  expectEnd(reader, end)
  if (id === null || role === null) throw malformed('a change of role needs an id and a role')
  return { kind: 'set-role', id, role }
}

function readMove(reader: BinaryReader, end: number): MemberChange {
  let id: NodeId | null = null
  let peerAddress: string | null = null
  let clientAddress: string | null = null
  while (reader.pos < end) {
    const head = reader.uint32()
    if (head >>> 3 === 1) id = readId(reader, head & 7)
    else if (head >>> 3 === 2) peerAddress = readText(reader, head & 7, textBytesMax)
    else if (head >>> 3 === 3) clientAddress = readText(reader, head & 7, textBytesMax)
    else skipField(reader, head >>> 3, head & 7)
  }
  expectEnd(reader, end)
  if (id === null) throw malformed('a move needs an id')
  return { kind: 'move', id, peerAddress, clientAddress }
}

function readRefusal(reader: BinaryReader, end: number): MembershipAnswer {
  let reason: ChangeRefusal | undefined
  let message = ''
  while (reader.pos < end) {
    const head = reader.uint32()
    if (head >>> 3 === 1) reason = refusalOf.get(readWhole(reader, head & 7))
    else if (head >>> 3 === 2) message = readText(reader, head & 7, refusalBytesMax)
    else skipField(reader, head >>> 3, head & 7)
  }
  expectEnd(reader, end)
  if (reason === undefined) throw malformed('a refusal for an unknown reason')
  return { kind: 'refused', reason, message }
}

function readDone(reader: BinaryReader, end: number): MembershipAnswer {
  let index = 0
  let configuration: Configuration | null = null
  while (reader.pos < end) {
    const head = reader.uint32()
    if (head >>> 3 === 1) index = readWhole(reader, head & 7)
    else if (head >>> 3 === 2) configuration = readConfiguration(reader, readEnd(reader, head & 7, end))
    else skipField(reader, head >>> 3, head & 7)
  }
  expectEnd(reader, end)
  if (configuration === null) throw malformed('a finished change needs its configuration')
  return { kind: 'done', index: logIndex(index), configuration }
}
