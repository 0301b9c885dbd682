import type { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire'
import { assertNever } from '../../base/assert.ts'
import { memberTextBytesMax } from '../core/config.ts'
import { logIndex, term } from '../core/types.ts'
import type { Configuration, Entry, MemberInfo, MemberRole, NodeId, SnapshotMeta } from '../core/types.ts'
import { expectEnd, malformed, openMessage, readBytes, readEnd, readFlag, readId, readIds } from './wire.ts'
import {
  readText,
  readWhole,
  skipField,
  writeBytes,
  writeFlag,
  writeId,
  writeIds,
  writeText,
} from './wire.ts'
import { writeWhole } from './wire.ts'

/*
 * Codec of entries and configurations, see `proto/raft.proto`. Each read function gets the position
 * where its message ends, and checks the values that the types require, so that no bytes of a peer
 * can fail an assertion.
 */

/** Limit of the members in one configuration, far above that of `config.ts`. */
const membersMax = 256
/** The limit that `configurationFault` checks, so followers can decode what a leader accepts. */
export const textBytesMax = memberTextBytesMax

export function writeEntry(writer: BinaryWriter, entry: Entry): void {
  writeWhole(writer, 1, entry.index)
  writeWhole(writer, 2, entry.term)
  switch (entry.kind) {
    case 'command':
      return writeBytes(writer, 3, entry.data)
    case 'empty':
      return writeFlag(writer, 4, true)
    case 'configuration':
      openMessage(writer, 5)
      writeConfiguration(writer, entry.configuration)
      writer.join()
      return
    default:
      assertNever(entry)
  }
}

/** Reads an entry. The data of a command is a view into the reader's bytes. */
export function readEntry(reader: BinaryReader, end: number): Entry {
  let index = 0
  let entryTerm = 0
  let data: Uint8Array | null = null
  let isEmpty = false
  let configuration: Configuration | null = null
  while (reader.pos < end) {
    const head = reader.uint32()
    const type = head & 7
    switch (head >>> 3) {
      case 1:
        index = readWhole(reader, type)
        break
      case 2:
        entryTerm = readWhole(reader, type)
        break
      case 3:
        data = readBytes(reader, type)
        break
      case 4:
        isEmpty = readFlag(reader, type)
        break
      case 5:
        configuration = readConfiguration(reader, readEnd(reader, type, end))
        break
      default:
        skipField(reader, head >>> 3, type)
    }
  }
  expectEnd(reader, end)
  if (index === 0 || entryTerm === 0) throw malformed('an entry begins at index 1 and term 1')
  const kinds = Number(data !== null) + Number(isEmpty) + Number(configuration !== null)
  if (kinds !== 1) throw malformed('an entry is of one kind')
  // No spread, for speed: this runs for every entry.
  if (data !== null) return { index: logIndex(index), term: term(entryTerm), kind: 'command', data }
  if (configuration === null) return { index: logIndex(index), term: term(entryTerm), kind: 'empty' }
  return { index: logIndex(index), term: term(entryTerm), kind: 'configuration', configuration }
}

export function writeSnapshotMeta(writer: BinaryWriter, meta: SnapshotMeta): void {
  writeWhole(writer, 1, meta.index)
  writeWhole(writer, 2, meta.term)
  openMessage(writer, 3)
  writeConfiguration(writer, meta.configuration)
  writer.join()
}

export function readSnapshotMeta(reader: BinaryReader, end: number): SnapshotMeta {
  let index = 0
  let metaTerm = 0
  let configuration: Configuration | null = null
  while (reader.pos < end) {
    const head = reader.uint32()
    const type = head & 7
    switch (head >>> 3) {
      case 1:
        index = readWhole(reader, type)
        break
      case 2:
        metaTerm = readWhole(reader, type)
        break
      case 3:
        configuration = readConfiguration(reader, readEnd(reader, type, end))
        break
      default:
        skipField(reader, head >>> 3, type)
    }
  }
  expectEnd(reader, end)
  if (configuration === null) throw malformed('a snapshot names its configuration')
  return { index: logIndex(index), term: term(metaTerm), configuration }
}

export function writeConfiguration(writer: BinaryWriter, configuration: Configuration): void {
  writeIds(writer, 1, configuration.voters)
  if (configuration.votersOutgoing !== null) {
    openMessage(writer, 2)
    writeIds(writer, 1, configuration.votersOutgoing)
    writer.join()
  }
  writeIds(writer, 3, configuration.learners)
  writeIds(writer, 4, configuration.learnersNext)
  writeFlag(writer, 5, configuration.autoLeave)
  for (const member of configuration.members) {
    openMessage(writer, 6)
    writeMember(writer, member)
    writer.join()
  }
}

export function readConfiguration(reader: BinaryReader, end: number): Configuration {
  const voters: NodeId[] = []
  const learners: NodeId[] = []
  const learnersNext: NodeId[] = []
  const members: MemberInfo[] = []
  let votersOutgoing: NodeId[] | null = null
  let autoLeave = false
  while (reader.pos < end) {
    const head = reader.uint32()
    const type = head & 7
    switch (head >>> 3) {
      case 1:
        readIds(reader, type, end, voters, membersMax)
        break
      case 2:
        votersOutgoing = readVoters(reader, readEnd(reader, type, end), votersOutgoing ?? [])
        break
      case 3:
        readIds(reader, type, end, learners, membersMax)
        break
      case 4:
        readIds(reader, type, end, learnersNext, membersMax)
        break
      case 5:
        autoLeave = readFlag(reader, type)
        break
      case 6:
        if (members.length >= membersMax) throw malformed('too many members')
        members.push(readMember(reader, readEnd(reader, type, end)))
        break
      default:
        skipField(reader, head >>> 3, type)
    }
  }
  expectEnd(reader, end)
  const configuration = { voters, votersOutgoing, learners, learnersNext, autoLeave, members }
  checkConfiguration(configuration)
  return configuration
}

function readVoters(reader: BinaryReader, end: number, into: NodeId[]): NodeId[] {
  while (reader.pos < end) {
    const head = reader.uint32()
    if (head >>> 3 === 1) readIds(reader, head & 7, end, into, membersMax)
    else skipField(reader, head >>> 3, head & 7)
  }
  expectEnd(reader, end)
  return into
}

/**
 * Checks that lists ascend, learners do not vote, and each id has its member. `configurationFault`
 * checks the members themselves.
 */
function checkConfiguration(configuration: Configuration): void {
  const { voters, votersOutgoing, learners, learnersNext, members } = configuration
  const ids = members.map(({ id }) => id)
  for (const list of [voters, votersOutgoing ?? [], learners, learnersNext, ids]) {
    if (list.some((id, at) => at > 0 && id <= (list[at - 1] ?? id))) throw malformed('a list does not ascend')
  }
  const voting = new Set([...voters, ...(votersOutgoing ?? [])])
  if (learners.some((id) => voting.has(id))) throw malformed('a learner is also a voter')
  if (learnersNext.some((id) => votersOutgoing?.includes(id) !== true)) {
    throw malformed('a next learner is no outgoing voter')
  }
  const named = new Set([...voting, ...learners])
  if (named.size !== ids.length || ids.some((id) => !named.has(id))) {
    throw malformed('members and identities differ')
  }
}

export const roleNumber = { voter: 1, learner: 2 } satisfies Record<MemberRole, number>

export function writeMember(writer: BinaryWriter, member: MemberInfo): void {
  writeId(writer, 1, member.id)
  writeText(writer, 2, member.name)
  writeWhole(writer, 3, roleNumber[member.role])
  writeWhole(writer, 4, roleNumber[member.wantedRole])
  writeText(writer, 5, member.peerAddress)
  writeText(writer, 6, member.clientAddress)
  writeText(writer, 7, member.version)
  writeWhole(writer, 8, member.featureLevel)
  if (member.replaces !== null) writeId(writer, 9, member.replaces)
  if (member.addedMs !== 0) writeWhole(writer, 10, member.addedMs)
}

export function readMember(reader: BinaryReader, end: number): MemberInfo {
  let id: NodeId | null = null
  let role: MemberRole | null = null
  let wantedRole: MemberRole | null = null
  let featureLevel = 0
  let replaces: NodeId | null = null
  let addedMs = 0
  const texts = { name: '', peerAddress: '', clientAddress: '', version: '' }
  while (reader.pos < end) {
    const head = reader.uint32()
    const type = head & 7
    switch (head >>> 3) {
      case 1:
        id = readId(reader, type)
        break
      case 2:
        texts.name = readText(reader, type, textBytesMax)
        break
      case 3:
        role = readRole(reader, type)
        break
      case 4:
        wantedRole = readRole(reader, type)
        break
      case 5:
        texts.peerAddress = readText(reader, type, textBytesMax)
        break
      case 6:
        texts.clientAddress = readText(reader, type, textBytesMax)
        break
      case 7:
        texts.version = readText(reader, type, textBytesMax)
        break
      case 8:
        featureLevel = readWhole(reader, type)
        break
      case 9:
        replaces = readId(reader, type)
        break
      case 10:
        addedMs = readWhole(reader, type)
        break
      default:
        skipField(reader, head >>> 3, type)
    }
  }
  expectEnd(reader, end)
  if (id === null || role === null || wantedRole === null || texts.name === '') {
    throw malformed('a member has an identity, a name and two roles')
  }
  return { id, role, wantedRole, featureLevel, replaces, addedMs, ...texts }
}

export function readRole(reader: BinaryReader, type: number): MemberRole {
  const value = readWhole(reader, type)
  if (value === roleNumber.voter) return 'voter'
  if (value === roleNumber.learner) return 'learner'
  throw malformed(`unknown role ${value}`)
}
