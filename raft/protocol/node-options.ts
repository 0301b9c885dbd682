import { assert } from '../../base/assert.ts'
import type { CoreConfig } from '../core/config.ts'
import { emptyConfiguration } from '../core/types.ts'
import type { Configuration, LogIndex, MemberInfo, NodeId } from '../core/types.ts'

const KiB = 1024
const MiB = 1024 * KiB

/** How fast a member notices that its leader is gone. */
export type NodeTiming = {
  /** A leader speaks at least this often. */
  readonly heartbeatMs: number
  /** A follower that hears nothing for this long up to twice as long stands for election. */
  readonly electionMs: number
  /** Resolution of both. */
  readonly tickMs: number
  /**
   * The longest `electionMs` that this member may have been started with before; unset: this one.
   */
  readonly promisedMs?: number
}

/**
 * Detection takes 300 to 600 ms and an election a few ms more: writes go on within a second. Six
 * heartbeats may be lost before anybody stands. Ticks are fine so that two followers rarely stand
 * together.
 */
export const defaultTiming: NodeTiming = Object.freeze({ heartbeatMs: 50, electionMs: 300, tickMs: 10 })

/** Bounds of one member's consensus. Bytes unless the name says otherwise. */
export type NodeLimits = {
  /** Of the core; see `CoreConfig`. */
  readonly appendBytesMax: number
  readonly inflightMessagesMax: number
  readonly inflightBytesMax: number
  readonly uncommittedBytesMax: number
  readonly logCacheBytesMax: number
  readonly readRoundsMax: number

  /** One entry with its envelope. When full: `too-large`. */
  readonly entryBytesMax: number
  /** Proposals of this member waiting for their fate. When full: `overloaded`. */
  readonly proposalsMax: number
  readonly proposalBytesMax: number
  /**
   * Forwarded proposals waiting for the end of a turn. When full: refused, the proposer tries
   * again.
   */
  readonly forwardedBytesMax: number
  /** Reads waiting for a barrier. When full: `overloaded`. */
  readonly readersMax: number
  /** Rounds of this member under way. When full: readers gather in the next round. */
  readonly readRoundsUnderWayMax: number
  /**
   * Read requests of peers in one turn, and of ours under way. When full: not confirmed, asked
   * again.
   */
  readonly readRequestsMax: number

  /**
   * Entries under way from the raft thread to the api thread. When full: it reads the log instead.
   */
  readonly entryCreditBytes: number
  /** Recent entries the raft thread keeps for that. When full: the oldest go. */
  readonly entryTailBytesMax: number
  /** Applied before others get a turn. */
  readonly applySliceBytesMax: number
  readonly applySliceEntriesMax: number
  /** Asked of the log in one go when catching up. */
  readonly catchUpBytesMax: number

  /** Snapshots sent at once. When full: the peer waits. */
  readonly snapshotStreamsMax: number
  /** Chunks under way between raft and api thread. */
  readonly snapshotWindowChunks: number
  /**
   * Log kept behind the database for slow followers, in entries and bytes; the first reached
   * counts.
   */
  readonly retentionEntries: number
  readonly retentionBytes: number

  /** A leader whose log or state machine stands still for this long while work waits gives way. */
  readonly stallMsMax: number
  /** It does so at most this often: when all are slow, passing leadership around helps nobody. */
  readonly stallCooldownMs: number

  /** A try or a round not heard of for this long is presumed lost. */
  readonly resendMs: number
  readonly readRetryMs: number
}

export const defaultLimits: NodeLimits = Object.freeze({
  appendBytesMax: 1 * MiB,
  inflightMessagesMax: 64,
  inflightBytesMax: 8 * MiB,
  uncommittedBytesMax: 64 * MiB,
  logCacheBytesMax: 16 * MiB,
  readRoundsMax: 256,

  entryBytesMax: 3 * MiB + 64 * KiB,
  proposalsMax: 4096,
  proposalBytesMax: 32 * MiB,
  forwardedBytesMax: 64 * MiB,
  readersMax: 16_384,
  readRoundsUnderWayMax: 2,
  readRequestsMax: 256,

  entryCreditBytes: 8 * MiB,
  entryTailBytesMax: 8 * MiB,
  applySliceBytesMax: 256 * KiB,
  applySliceEntriesMax: 256,
  catchUpBytesMax: 1 * MiB,

  snapshotStreamsMax: 2,
  snapshotWindowChunks: 4,
  retentionEntries: 20_000,
  retentionBytes: 64 * MiB,

  stallMsMax: 3000,
  stallCooldownMs: 30_000,

  resendMs: 1000,
  readRetryMs: 250,
})

/** Who this member is and how it behaves: plain data, so that it may travel to a thread. */
export type NodeOptions = {
  readonly id: NodeId
  /**
   * The members of a new cluster, the same on each of them. Not looked at once the log has begun.
   */
  readonly members: readonly MemberInfo[]
  readonly timing: NodeTiming
  readonly limits: NodeLimits
  /**
   * Of a member that was added to a cluster, at every start; unset for one that founded it. Then
   * `members` is empty.
   */
  readonly joining?: Joining
  /**
   * Given by the operator of a member that was away while all peers that it knows were replaced. It
   * talks to these too until its own log knows a configuration as late.
   */
  readonly currentMembers?: MemberList
}

/** Who the members of a cluster are, told to a member by something else than its log. */
export type MemberList = {
  /** All members as of `configurationIndex`. */
  readonly members: readonly MemberInfo[]
  readonly configurationIndex: LogIndex
}

/**
 * What a member that joins is told by the cluster, so that it can hear its leader before its log
 * says who is who.
 */
export type Joining = MemberList & {
  /** See `ClusterRecord`. */
  readonly clusterId: string
  /**
   * Of the configuration that first had this member: a peer that knows less cannot say that it was
   * removed.
   */
  readonly configurationIndex: LogIndex
}

export function checkNodeOptions({ timing, limits, id, members, joining }: NodeOptions): void {
  assert(timing.tickMs > 0 && timing.tickMs <= timing.heartbeatMs, 'a heartbeat spans a tick or more')
  assert(timing.electionMs >= 3 * timing.heartbeatMs, 'an election timeout spans three heartbeats')
  assert(limits.entryCreditBytes > limits.entryBytesMax, 'the largest entry fits the credit')
  assert(limits.entryTailBytesMax > limits.entryBytesMax, 'the largest entry fits the tail')
  assert(limits.uncommittedBytesMax > limits.entryBytesMax, 'the largest entry may be proposed')
  assert(
    members.length === 0 || members.some((member) => member.id === id),
    'a member of a new cluster is in it',
  )
  assert(joining === undefined || members.length === 0, 'who joins a cluster does not found one')
}

/**
 * The ticks of an election timeout less the first, which may come at once, and one for all that
 * come a little early.
 */
function leasePromiseMs({ electionMs, tickMs }: NodeTiming): number {
  return Math.max(0, Math.floor(electionMs - 2 * tickMs))
}

/** One tick more than it takes, as the first may come at once. */
function formerPromiseTicks({
  electionMs,
  tickMs,
  promisedMs = 0,
}: NodeTiming): Pick<CoreConfig, 'formerPromiseTicks'> {
  return promisedMs > electionMs ? { formerPromiseTicks: Math.ceil(promisedMs / tickMs) + 1 } : {}
}

export function coreConfigOf(options: NodeOptions, random: CoreConfig['random']): CoreConfig {
  const { timing, limits } = options
  return {
    id: options.id,
    heartbeatTicks: Math.max(1, Math.round(timing.heartbeatMs / timing.tickMs)),
    electionTicks: Math.max(3, Math.round(timing.electionMs / timing.tickMs)),
    appendBytesMax: limits.appendBytesMax,
    inflightMessagesMax: limits.inflightMessagesMax,
    inflightBytesMax: limits.inflightBytesMax,
    uncommittedBytesMax: limits.uncommittedBytesMax,
    logCacheBytesMax: limits.logCacheBytesMax,
    readRoundsMax: limits.readRoundsMax,
    leasePromiseMs: leasePromiseMs(timing),
    ...formerPromiseTicks(timing),
    random,
  }
}

/** What every member of a new cluster starts from: equal lists give equal configurations. */
export function initialConfiguration(members: readonly MemberInfo[]): Configuration {
  const sorted = [...members].sort((a, b) => a.id - b.id)
  return {
    ...emptyConfiguration,
    voters: sorted.filter((member) => member.role === 'voter').map((member) => member.id),
    learners: sorted.filter((member) => member.role === 'learner').map((member) => member.id),
    members: sorted,
  }
}
