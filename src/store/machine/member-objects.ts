import { assert } from '../../../base/assert.ts'
import type { Configuration, MemberInfo } from '../../../raft/index.ts'
import type { ClusterIdentity, EncodedObject, Operation } from '../command.ts'
import { keyOf, prefixOf } from '../key.ts'
import type { Key, KeyPrefix } from '../key.ts'
import { hash128, newHash, writeHash } from './hash.ts'
import { spansOf, textOfSpans } from './json-spans.ts'
import type { JsonSpans } from './json-spans.ts'

/*
 * Member objects, created and updated by apply from the configuration. All members must produce the
 * same bytes, so any change here needs a feature level.
 */

export type Membership = {
  readonly configuration: Configuration
  readonly identity: ClusterIdentity
  /** Wall-clock ms in the proposal, for members without a time of their own; 0: unknown. */
  readonly atMs: number
}

/** Prefix of all Member objects. */
export function memberPrefix(apiDomain: ClusterIdentity['apiDomain']): KeyPrefix {
  return prefixOf({ group: groupOf(apiDomain), plural, namespace: null })
}

export function memberKey(apiDomain: ClusterIdentity['apiDomain'], name: string): Key {
  return keyOf({ group: groupOf(apiDomain), plural, namespace: '', name })
}

/**
 * Whether a key is that of a Member object, in either API domain. A cluster uses only one of the
 * two.
 */
export function isMemberKey(key: Key): boolean {
  return /^cluster\.(?:orch|k8s)\.io\/members\//.test(key)
}

/**
 * Returns the operations that make the objects match the configuration: one object per member, with
 * its name. Fields written by others (labels, status) are kept. An object without an id announces a
 * member that has yet to join; a member of that name adopts it.
 *
 * @param shownNow all Member objects, in key order
 */
export function memberOperations(
  shownNow: readonly { readonly key: Key; readonly bytes: Uint8Array }[],
  membership: Membership,
): readonly Operation[] {
  const { configuration, identity } = membership
  const operations: Operation[] = []
  const shown = new Set<number>()
  for (const { key, bytes } of shownNow) {
    const object = parse(bytes)
    const { name } = recordOf(object.get('metadata'))
    const member = configuration.members.find((candidate) => candidate.name === name)
    const { id } = recordOf(object.get('status'))
    const real = typeof id === 'string' && id !== ''
    if (member === undefined) {
      if (real) operations.push({ kind: 'delete', key, conditions: [] })
      continue
    }
    shown.add(member.id)
    if (real && id !== String(member.id)) {
      operations.push({ kind: 'delete', key, conditions: [] }, created(key, member, membership))
      continue
    }
    const next = withMember(object, member, configuration)
    if (textOfSpans(next) !== textOfSpans(object)) operations.push(put(key, next))
  }
  for (const member of configuration.members) {
    if (shown.has(member.id)) continue
    operations.push(created(memberKey(identity.apiDomain, member.name), member, membership))
  }
  return operations
}

type JsonRecord = { readonly [name: string]: unknown }

function created(key: Key, member: MemberInfo, { configuration, identity, atMs }: Membership): Operation {
  const metadata = {
    name: member.name,
    uid: uidOf(identity.clusterId, member),
    resourceVersion: '',
    creationTimestamp: timeOf(member.addedMs > 0 ? member.addedMs : atMs),
  }
  const head = new Map([
    ['kind', JSON.stringify('Member')],
    ['apiVersion', JSON.stringify(`${groupOf(identity.apiDomain)}/v1`)],
    ['metadata', JSON.stringify(metadata)],
  ])
  return put(key, withMember(head, member, configuration))
}

/** Returns the object with the data of the configuration; the rest of the status is kept. */
function withMember(object: JsonSpans, member: MemberInfo, configuration: Configuration): JsonSpans {
  const replaced = configuration.members.find(({ id }) => id === member.replaces)
  const spec = {
    role: roleWord[member.wantedRole],
    peerAddress: member.peerAddress,
    clientAddress: member.clientAddress,
    ...(replaced === undefined ? {} : { replaces: replaced.name }),
  }
  const { phase } = recordOf(object.get('status'))
  const status = spansOf(object.get('status') ?? '')
    .set('id', JSON.stringify(String(member.id)))
    .set('role', JSON.stringify(roleWord[member.role]))
    .set('phase', JSON.stringify(phaseOf(phase, member, configuration)))
  return new Map(object).set('spec', JSON.stringify(spec)).set('status', textOfSpans(status))
}

const roleWord = { voter: 'Voter', learner: 'Learner' } as const

/** The leader reports `Ready`; until then a member that has its wanted role is `NotReady`. */
function phaseOf(phase: unknown, { id, role, wantedRole }: MemberInfo, configuration: Configuration): string {
  const { voters, votersOutgoing, learnersNext } = configuration
  const leaves = votersOutgoing?.includes(id) === true && !voters.includes(id) && !learnersNext.includes(id)
  if (leaves) return 'Removing'
  if (role !== wantedRole) return 'Joining'
  return phase === 'Ready' ? phase : 'NotReady'
}

function put(key: Key, object: JsonSpans): Operation {
  return { kind: 'put', key, conditions: [], object: encode(object) }
}

/**
 * Encodes an object as the API does.
 * @param object kind, apiVersion and metadata first, in that order
 */
function encode(object: JsonSpans): EncodedObject {
  const { uid, labels, deletionTimestamp } = recordOf(object.get('metadata'))
  const head = `{"kind":${object.get('kind') ?? ''},"apiVersion":${object.get('apiVersion') ?? ''},`
  const text = textOfSpans(object)
  assert(text.startsWith(head), 'kind and apiVersion come first')
  // Only scalars precede it, and quotes inside a string would be escaped.
  const revisionAt = text.indexOf(emptyRevision, head.length) + emptyRevision.length - 1
  assert(revisionAt > head.length, 'metadata has a resourceVersion')
  return {
    bytes: Buffer.from(text),
    revisionOffset: Buffer.byteLength(text.slice(0, revisionAt)),
    itemOffset: Buffer.byteLength(head),
    uid: String(uid),
    terminating: typeof deletionTimestamp === 'string',
    labels: labels === undefined ? null : (labels as Readonly<Record<string, string>>),
  }
}

const emptyRevision = '"resourceVersion":""'

/** Parses a stored object and removes its revision: apply inserts the next one. */
function parse(bytes: Uint8Array): JsonSpans {
  const object = spansOf(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8'))
  const metadata = spansOf(object.get('metadata') ?? '').set('resourceVersion', '""')
  return object.set('metadata', textOfSpans(metadata))
}

/** @param text JSON. @returns the parsed object; `{}` when it is not an object */
function recordOf(text: string | undefined): JsonRecord {
  const value: unknown = text === undefined ? null : JSON.parse(text)
  return typeof value === 'object' && value !== null ? (value as JsonRecord) : {}
}

/**
 * Returns a permanent uid, derived from the cluster ID and the member ID.
 * @source RFC 9562 section 5.8: version 8, variant 10
 */
function uidOf(clusterId: string, { id }: MemberInfo): string {
  const bytes = Buffer.alloc(16)
  writeHash(hash128(Buffer.from(`member ${clusterId} ${id}`), 0, newHash()), bytes, 0)
  bytes[6] = (bytes.readUInt8(6) & 0x0f) | 0x80
  bytes[8] = (bytes.readUInt8(8) & 0x3f) | 0x80
  const hex = bytes.toString('hex')
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

/** Whole seconds, UTC. null: unknown, or outside the years that objects can represent. */
function timeOf(ms: number): string | null {
  return ms > 0 && ms < yearTenThousandMs ? `${new Date(ms).toISOString().slice(0, 19)}Z` : null
}

const yearTenThousandMs = 253_402_300_800_000
const plural = 'members'

function groupOf(apiDomain: ClusterIdentity['apiDomain']): string {
  return `cluster.${apiDomain}`
}
