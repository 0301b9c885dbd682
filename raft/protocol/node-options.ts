import { assert } from '../../base/assert.ts'
import type { CoreConfig } from '../core/config.ts'
import { emptyConfiguration } from '../core/types.ts'
import type { Configuration, LogIndex, MemberInfo, NodeId } from '../core/types.ts'

const KiB = 1024
const MiB = 1024 * KiB

/** Heartbeat and election timing of a member. */
export type NodeTiming = {
  /** A leader sends a heartbeat at least this often. */
  readonly heartbeatMs: number
  /** A follower without a message of the leader for this long, up to twice as long, campaigns. */
  readonly electionMs: number
  /** Resolution of both. */
  readonly tickMs: number
  /**
   * The longest `electionMs` that this member may have been started with before; unset: the same.
   */
  readonly promisedMs?: number
}

/**
 * Detection takes 300 to 600 ms and an election a few ms more: writes continue within a second. Two
 * heartbeats in a row may be lost without an election. Heartbeats and ticks are most of what idle
 * members do, so they are as rare as that allows.
 */
export const defaultTiming: NodeTiming = Object.freeze({ heartbeatMs: 100, electionMs: 300, tickMs: 25 })

/** Limits of one member's consensus, in bytes unless the name has another unit. */
export type NodeLimits = {
  /** Limits of the core; see `CoreConfig`. */
  readonly appendBytesMax: number
  readonly inflightMessagesMax: number
  readonly inflightBytesMax: number
  readonly uncommittedBytesMax: number
  readonly logCacheBytesMax: number
  readonly readRoundsMax: number

  /** One entry with its envelope. When full: `too-large`. */
  readonly entryBytesMax: number
  /** Pending proposals of this member. When full: `overloaded`. */
  readonly proposalsMax: number
  readonly proposalBytesMax: number
  /**
   * Forwarded proposals waiting for the end of a turn. When full: refused, the proposer retries.
   */
  readonly forwardedBytesMax: number
  /** Reads waiting for a barrier. When full: `overloaded`. */
  readonly readersMax: number
  /** Rounds of this member in progress. When full: readers gather in the next round. */
  readonly readRoundsUnderWayMax: number
  /**
   * Read requests of peers in one turn, and own ones in progress. When full: not confirmed,
   * retried.
   */
  readonly readRequestsMax: number

  /**
   * Entries in transit from the raft thread to the api thread. When full: the api thread reads the
   * log instead.
   */
  readonly entryCreditBytes: number
  /**
   * Recent entries that the raft thread keeps for the api thread. When full: the oldest are
   * dropped.
   */
  readonly entryTailBytesMax: number
  /** Limit of one slice, after which other work gets a turn. */
  readonly applySliceBytesMax: number
  readonly applySliceEntriesMax: number
  /** Read from the log at once when catching up. */
  readonly catchUpBytesMax: number

  /** Concurrent outgoing snapshots. When full: the peer waits. */
  readonly snapshotStreamsMax: number
  /** Chunks in transit between raft and api thread. */
  readonly snapshotWindowChunks: number
  /**
   * Log kept for slow followers, counted back from its end, in entries and bytes; the first limit
   * reached counts.
   */
  readonly retentionEntries: number
  readonly retentionBytes: number

  /**
   * A leader whose log or state machine is stalled for this long with pending work transfers
   * leadership.
   */
  readonly stallMsMax: number
  /**
   * Minimum interval of such transfers: if all members are slow, moving leadership around does not
   * help.
   */
  readonly stallCooldownMs: number

  /** A try or a round without a response for this long is presumed lost. */
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

/** Identity and settings of a member: plain data, so that it can be sent to a thread. */
export type NodeOptions = {
  readonly id: NodeId
  /** The members of a new cluster, the same on each of them. Ignored once the log has begun. */
  readonly members: readonly MemberInfo[]
  /**
   * `members` is known to differ from the list that the log began with, so a log that lost its
   * first record cannot begin with it.
   */
  readonly membersChanged?: boolean
  readonly timing: NodeTiming
  readonly limits: NodeLimits
  /**
   * Set at every start of a member that was added to a cluster, whose `members` is empty; unset for
   * a founder.
   */
  readonly joining?: Joining
}

/** The members of a cluster, from another source than the log. */
export type MemberList = {
  /** All members as of `configurationIndex`. */
  readonly members: readonly MemberInfo[]
  readonly configurationIndex: LogIndex
}

/**
 * The information that a joining member receives from the cluster, so that it accepts its leader
 * before its log contains a configuration.
 */
export type Joining = MemberList & {
  /** See `ClusterRecord`. */
  readonly clusterId: string
  /**
   * Index of the first configuration with this member: a peer with an older one cannot report its
   * removal.
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
  assert(joining === undefined || members.length === 0, 'a joining member does not found a cluster')
}

/**
 * Returns an election timeout less two ticks: the first tick may come at once, and each tick a
 * little early.
 */
function leasePromiseMs({ electionMs, tickMs }: NodeTiming): number {
  return Math.max(0, Math.floor(electionMs - 2 * tickMs))
}

/**
 * Returns the ticks of `promisedMs`, and one more, because the first may come at once; nothing if
 * that promise is not longer than the present one.
 */
function formerPromiseTicks({
  electionMs,
  tickMs,
  promisedMs = 0,
}: NodeTiming): Pick<CoreConfig, 'formerPromiseTicks'> {
  return promisedMs > electionMs ? { formerPromiseTicks: Math.ceil(promisedMs / tickMs) + 1 } : {}
}

/** Heartbeat intervals between two heartbeats of a leader without work. */
export const quietHeartbeats = 5

export function coreConfigOf(options: NodeOptions, random: CoreConfig['random']): CoreConfig {
  const { timing, limits } = options
  return {
    id: options.id,
    heartbeatTicks: Math.max(1, Math.round(timing.heartbeatMs / timing.tickMs)),
    quietHeartbeatTicks: Math.max(1, Math.round((quietHeartbeats * timing.heartbeatMs) / timing.tickMs)),
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

/** Returns the first configuration of a new cluster: equal lists give equal configurations. */
export function initialConfiguration(members: readonly MemberInfo[]): Configuration {
  const sorted = [...members].sort((a, b) => a.id - b.id)
  return {
    ...emptyConfiguration,
    voters: sorted.filter((member) => member.role === 'voter').map((member) => member.id),
    learners: sorted.filter((member) => member.role === 'learner').map((member) => member.id),
    members: sorted,
  }
}
