import { present } from '../../../base/assert.ts'
import { logIndex, nodeId, term } from '../../../raft/index.ts'
import type { Configuration, LogIndex, MemberInfo, MemberRole, NodeId, Term } from '../../../raft/index.ts'
import type { ClusterIdentity, Settings } from '../command.ts'
import { DatabaseError } from '../store-errors.ts'
import { revision } from '../revision.ts'
import type { Revision } from '../revision.ts'
import { ByteReader, ByteWriter } from './bytes.ts'
import { storageRulesLevel } from './feature-level.ts'

/** The singular parts of the state: everything but versions and sessions. */
export type Head = {
  readonly appliedIndex: LogIndex
  readonly appliedTerm: Term
  readonly configuration: Configuration
  readonly revision: Revision
  /** See `History.trimmed`. */
  readonly trimmed: Revision
  readonly identity: ClusterIdentity | null
  readonly settings: Settings
  readonly featureLevel: number
  /** See `MachineState`; neither is stored before feature level 2. */
  readonly usedBytes: number
  readonly storageAlarm: boolean
}

/**
 * The format depends on the feature level, so that a state of level 1 keeps its bytes, and a
 * program that only supports level 1 rejects any other as too new.
 */
const formats = { first: 1, withStorage: 2 } as const
/**
 * Flags of a stored configuration. `added`: every member has two more fields, `replaces` and
 * `addedMs`. Unset if no member was added, so that such a configuration keeps its bytes.
 */
const flag = { autoLeave: 1, added: 2 } as const
/** Flags of the head, since feature level 2. */
const headFlag = { alarm: 1, leaseReads: 2, staleAccess: 4 } as const
const writer = new ByteWriter()

/** Equal heads have equal bytes: fields in a fixed order, records by ascending name. */
export function encodeHead(head: Head): Uint8Array {
  const hasStorage = head.featureLevel >= storageRulesLevel
  writer.u8(hasStorage ? formats.withStorage : formats.first)
  writer.number(head.appliedIndex)
  writer.number(head.appliedTerm)
  writeConfiguration(head.configuration)
  writer.number(head.revision)
  writer.number(head.trimmed)
  writer.u8(head.identity === null ? 0 : 1)
  if (head.identity !== null) writeIdentity(head.identity)
  writer.number(head.settings.historyWindowMs)
  writer.number(head.settings.historyEventsMin)
  writer.number(head.settings.objectBytesMax)
  writer.number(head.featureLevel)
  if (hasStorage) {
    writer.number(present(head.settings.storageBytesMax, 'from level 2 on there is a quota'))
    writer.number(head.usedBytes)
    const leaseReads = head.settings.leaseReads === 1 ? headFlag.leaseReads : 0
    const { staleAccessMs } = head.settings
    const staleAccess = staleAccessMs === undefined ? 0 : headFlag.staleAccess
    writer.u8((head.storageAlarm ? headFlag.alarm : 0) | leaseReads | staleAccess)
    if (staleAccessMs !== undefined) writer.number(staleAccessMs)
  }
  return writer.take()
}

/** @throws DatabaseError `unsupported`, `damaged` */
export function decodeHead(bytes: Uint8Array): Head {
  const reader = new ByteReader(bytes)
  const format = reader.u8()
  if (format !== formats.first && format !== formats.withStorage) {
    throw new DatabaseError(
      'unsupported',
      `the database has format ${format}, this program knows up to ${formats.withStorage}: start the newer program`,
    )
  }
  const first = readFirst(reader)
  const head = format === formats.first ? first : withStorage(first, reader)
  if (!reader.done) throw new DatabaseError('damaged', 'the stored head is longer than it should be')
  return head
}

function readFirst(reader: ByteReader): Head {
  return {
    appliedIndex: logIndex(reader.number()),
    appliedTerm: term(reader.number()),
    configuration: readConfiguration(reader),
    revision: revision(reader.number()),
    trimmed: revision(reader.number()),
    identity: reader.u8() === 0 ? null : readIdentity(reader),
    settings: {
      historyWindowMs: reader.number(),
      historyEventsMin: reader.number(),
      objectBytesMax: reader.number(),
      storageBytesMax: null,
    },
    featureLevel: reader.number(),
    usedBytes: 0,
    storageAlarm: false,
  }
}

function withStorage(head: Head, reader: ByteReader): Head {
  const storageBytesMax = reader.number()
  const usedBytes = reader.number()
  const flags = reader.u8()
  if (flags > (headFlag.alarm | headFlag.leaseReads | headFlag.staleAccess)) {
    throw new DatabaseError('unsupported', 'the stored settings are of a newer program: start that one')
  }
  const lease = (flags & headFlag.leaseReads) === 0 ? {} : { leaseReads: 1 }
  const staleAccess = (flags & headFlag.staleAccess) === 0 ? {} : { staleAccessMs: reader.number() }
  return {
    ...head,
    settings: { ...head.settings, storageBytesMax, ...lease, ...staleAccess },
    usedBytes,
    storageAlarm: (flags & headFlag.alarm) !== 0,
  }
}

function writeIdentity(identity: ClusterIdentity): void {
  writer.text(identity.clusterId)
  writer.text(identity.apiDomain)
  writer.bytes(identity.continueTokenKey)
  const names = Object.keys(identity.keyFingerprints).sort()
  writer.u32(names.length)
  for (const name of names) {
    writer.text(name)
    writer.text(identity.keyFingerprints[name] ?? '')
  }
}

function readIdentity(reader: ByteReader): ClusterIdentity {
  const clusterId = reader.text()
  const apiDomain = reader.text()
  if (apiDomain !== 'orch.io' && apiDomain !== 'k8s.io') {
    throw new DatabaseError('unsupported', `the database is of the API domain ${apiDomain}`)
  }
  const continueTokenKey = Uint8Array.from(reader.bytes())
  const keyFingerprints: Record<string, string> = {}
  for (let left = reader.u32(); left > 0; left--) {
    const name = reader.text()
    keyFingerprints[name] = reader.text()
  }
  return { clusterId, apiDomain, continueTokenKey, keyFingerprints }
}

function writeConfiguration(configuration: Configuration): void {
  writeIds(configuration.voters)
  writer.u8(configuration.votersOutgoing === null ? 0 : 1)
  writeIds(configuration.votersOutgoing ?? [])
  writeIds(configuration.learners)
  writeIds(configuration.learnersNext)
  const added = configuration.members.some(({ replaces, addedMs }) => replaces !== null || addedMs !== 0)
  writer.u8((configuration.autoLeave ? flag.autoLeave : 0) | (added ? flag.added : 0))
  writer.u32(configuration.members.length)
  for (const member of configuration.members) {
    writer.number(member.id)
    writer.text(member.name)
    writer.text(member.role)
    writer.text(member.wantedRole)
    writer.text(member.peerAddress)
    writer.text(member.clientAddress)
    writer.text(member.version)
    writer.number(member.featureLevel)
    if (!added) continue
    writer.number(member.replaces ?? 0)
    writer.number(member.addedMs)
  }
}

function readConfiguration(reader: ByteReader): Configuration {
  const voters = readIds(reader)
  const joint = reader.u8() === 1
  const outgoing = readIds(reader)
  const learners = readIds(reader)
  const learnersNext = readIds(reader)
  const flags = reader.u8()
  if (flags > (flag.autoLeave | flag.added)) {
    throw new DatabaseError('unsupported', 'the stored configuration is of a newer program: start that one')
  }
  const autoLeave = (flags & flag.autoLeave) !== 0
  const added = (flags & flag.added) !== 0
  const members: MemberInfo[] = []
  for (let left = reader.u32(); left > 0; left--) {
    members.push({
      id: readId(reader),
      name: reader.text(),
      role: readRole(reader),
      wantedRole: readRole(reader),
      peerAddress: reader.text(),
      clientAddress: reader.text(),
      version: reader.text(),
      featureLevel: reader.number(),
      replaces: added ? readIdOrNone(reader) : null,
      addedMs: added ? reader.number() : 0,
    })
  }
  return { voters, votersOutgoing: joint ? outgoing : null, learners, learnersNext, autoLeave, members }
}

function writeIds(ids: readonly NodeId[]): void {
  writer.u32(ids.length)
  for (const id of ids) writer.number(id)
}

function readIds(reader: ByteReader): NodeId[] {
  const ids: NodeId[] = []
  for (let left = reader.u32(); left > 0; left--) ids.push(readId(reader))
  return ids
}

function readId(reader: ByteReader): NodeId {
  const id = reader.number()
  if (id < 1) throw new DatabaseError('damaged', 'a stored member has no id')
  return nodeId(id)
}

function readIdOrNone(reader: ByteReader): NodeId | null {
  const id = reader.number()
  return id === 0 ? null : nodeId(id)
}

function readRole(reader: ByteReader): MemberRole {
  const role = reader.text()
  if (role !== 'voter' && role !== 'learner')
    throw new DatabaseError('unsupported', `a stored member has the unknown role ${role}`)
  return role
}
