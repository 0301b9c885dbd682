import { assert } from '../../base/assert.ts'
import type { Brand } from '../../base/brand.ts'

/** A Raft term. 0 before the first election. */
export type Term = Brand<number, 'Term'>
/** Position in the replicated log. The first entry has index 1; 0 means "before the first". */
export type LogIndex = Brand<number, 'LogIndex'>
/**
 * Identity of one member for its lifetime, never reused. 1 to 2^53 - 1. The id of a founder is a
 * hash of the names of cluster and member, any other id is drawn at random.
 */
export type NodeId = Brand<number, 'NodeId'>

/**
 * @param value whole number >= 0. 2^53 terms, one a second, last 285 million years, so `number` is
 * wide enough.
 */
export function term(value: number): Term {
  assert(Number.isSafeInteger(value) && value >= 0, `term ${value} is a whole number from 0`)
  return value as Term
}

/**
 * @param value whole number >= 0. 2^53 indexes at 10,000 entries/s last 28,000 years, so `number`
 * is wide enough.
 */
export function logIndex(value: number): LogIndex {
  assert(Number.isSafeInteger(value) && value >= 0, `log index ${value} is a whole number from 0`)
  return value as LogIndex
}

export function nodeId(value: number): NodeId {
  assert(Number.isSafeInteger(value) && value >= 1, `node id ${value} is a whole number from 1`)
  return value as NodeId
}

export const noTerm = term(0)
export const noIndex = logIndex(0)

/** The role of a member, either the current (`role`) or the intended one (`wantedRole`). */
export type MemberRole = 'voter' | 'learner'

/** Describes a member. Part of configuration entries, so all members agree on it. */
export type MemberInfo = {
  readonly id: NodeId
  /** Unique in the cluster; a DNS label. */
  readonly name: string
  readonly role: MemberRole
  /**
   * `voter`: a learner is promoted once it has caught up. `learner`: the member is pinned, and
   * stays a learner.
   */
  readonly wantedRole: MemberRole
  /** `host:port` that its peers connect to. */
  readonly peerAddress: string
  /** `host:port` that its clients connect to. */
  readonly clientAddress: string
  /** Version of the program when this member was added; a founder may leave it empty. */
  readonly version: string
  /** The highest feature level that this member stated when it was added; a founder may state 0. */
  readonly featureLevel: number
  /** The member that is removed in the change that makes this one a voter; null: none. */
  readonly replaces: NodeId | null
  /** Wall-clock ms of its addition, as given by the requester; 0: a founder. */
  readonly addedMs: number
}

/**
 * The voters and learners. For the core a configuration is in force as soon as it is appended (Raft
 * thesis §4.1); a truncation reverts it. It is joint while `votersOutgoing` is not null: then
 * majorities of both voter sets are needed.
 */
export type Configuration = {
  /** Ascending; of a joint configuration, the incoming voters. */
  readonly voters: readonly NodeId[]
  /** Ascending; the outgoing voters of a joint configuration, else null. */
  readonly votersOutgoing: readonly NodeId[] | null
  /** Ascending; they receive the log and do not vote. Disjoint from both voter sets. */
  readonly learners: readonly NodeId[]
  /**
   * Ascending; voters of the outgoing set that become learners once the joint configuration is
   * left.
   */
  readonly learnersNext: readonly NodeId[]
  /**
   * Whether the leader leaves the joint configuration automatically, once its entry is committed.
   */
  readonly autoLeave: boolean
  /** Ascending by id; one for each id above. */
  readonly members: readonly MemberInfo[]
}

/** One entry of the replicated log. `data` is opaque to consensus. */
export type Entry =
  | { readonly index: LogIndex; readonly term: Term; readonly kind: 'command'; readonly data: Uint8Array }
  /**
   * The first entry of a new leader, so that entries of earlier terms can commit (Raft thesis
   * §3.6.2).
   */
  | { readonly index: LogIndex; readonly term: Term; readonly kind: 'empty' }
  | {
      readonly index: LogIndex
      readonly term: Term
      readonly kind: 'configuration'
      readonly configuration: Configuration
    }

/** The durable state of a member in addition to its log. */
export type HardState = {
  readonly term: Term
  readonly vote: NodeId | null
  /**
   * Not needed for safety: it only spares a restarted member the wait for a leader. Never above the
   * last index.
   */
  readonly commit: LogIndex
}

/** The state of everything at and below `index`. Also the base of a compacted log. */
export type SnapshotMeta = {
  readonly index: LogIndex
  readonly term: Term
  /** The configuration in force at `index`. */
  readonly configuration: Configuration
}

export const emptyConfiguration: Configuration = Object.freeze({
  voters: [],
  votersOutgoing: null,
  learners: [],
  learnersNext: [],
  autoLeave: false,
  members: [],
})

/** The base of a new log. */
export const noSnapshot: SnapshotMeta = Object.freeze({
  index: noIndex,
  term: noTerm,
  configuration: emptyConfiguration,
})

/**
 * Returns the bytes that one entry counts for in windows and limits: a fixed envelope, and its data
 * or an estimate for each member of a configuration.
 */
export function entryBytes(entry: Entry): number {
  const envelope = 32
  switch (entry.kind) {
    case 'command':
      return envelope + entry.data.byteLength
    case 'empty':
      return envelope
    case 'configuration':
      return envelope + 256 * entry.configuration.members.length
  }
}
