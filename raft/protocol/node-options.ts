import { assert } from '../../base/assert.ts'
import type { CoreConfig } from '../core/config.ts'
import { emptyConfiguration } from '../core/types.ts'
import type { Configuration, LogIndex, MemberInfo, NodeId } from '../core/types.ts'

const KiB = 1024
const MiB = 1024 * KiB

/** Heartbeat and election timing of a member. */
export type NodeTiming = {
  /** A leader with work sends a heartbeat at least this often; see `quietHeartbeats`. */
  readonly heartbeatMs: number
  /** A follower without a message of the leader for this long, up to twice as long, campaigns. */
  readonly electionMs: number
  /** Length of a tick of the core, in which both are counted. */
  readonly tickMs: number
  /**
   * The longest `electionMs` that this member may have been started with before; unset: the same.
   */
  readonly promisedMs?: number
}

/**
 * A failed leader is detected 300 to 600 ms after its last message. If it had no work, followers
 * wait 900 ms longer, but at most 300 to 600 ms from when a client begins to wait for the leader
 * (`core/quiet.ts`). An election takes a few ms more, so writes continue within a second. The end
 * of the leader's process is detected at once (`core/ended-leader.ts`). One lost heartbeat causes
 * no election, and two in a row rarely do. Heartbeats and ticks cause most of the load of idle
 * members, so they are as rare as these goals allow.
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

  /** One entry with its envelope. A larger proposal is refused with `too-large`. */
  readonly entryBytesMax: number
  /** Pending proposals of this member. Above it a proposal is refused with `overloaded`. */
  readonly proposalsMax: number
  readonly proposalBytesMax: number
  /**
   * Forwarded proposals that wait for the end of a turn. Further ones are refused, and their
   * proposers retry.
   */
  readonly forwardedBytesMax: number
  /** Reads that wait for a barrier. Above it a read is refused with `overloaded`. */
  readonly readersMax: number
  /** Read rounds of this member in progress. Above it readers wait for the next round. */
  readonly readRoundsUnderWayMax: number
  /**
   * Read requests that are collected in one turn, and pending rounds of this member at the leader.
   * Above it a further request of a peer, or the oldest round, fails at once and is retried.
   */
  readonly readRequestsMax: number

  /**
   * Entries in transit from the raft thread to the api thread. Further entries are not sent; the
   * api thread reads them from the log.
   */
  readonly entryCreditBytes: number
  /**
   * Recent entries that the raft thread keeps for the api thread. Above it the oldest are dropped.
   */
  readonly entryTailBytesMax: number
  /** Entries that are applied in one turn of the event loop. */
  readonly applySliceBytesMax: number
  readonly applySliceEntriesMax: number
  /** Entries that an api thread that lags reads from the log at once. */
  readonly catchUpBytesMax: number

  /** Concurrent outgoing snapshots. Above it a peer waits. */
  readonly snapshotStreamsMax: number
  /** Chunks of one snapshot in transit between the raft thread and the api thread. */
  readonly snapshotWindowChunks: number
  /**
   * The part of the log, in entries and in bytes, that is kept at its end for slow followers. The
   * limit that is reached first applies.
   */
  readonly retentionEntries: number
  readonly retentionBytes: number

  /**
   * A leader whose log or state machine is stalled for this long with pending work transfers
   * leadership. A leader that can commit nothing for this long resigns.
   */
  readonly stallMsMax: number
  /**
   * Minimum interval of such transfers, and of such resignations: if all members are slow, repeated
   * ones do not help.
   */
  readonly stallCooldownMs: number

  /** A proposal, or a read round, without a response for this long is presumed lost. */
  readonly resendMs: number
  readonly readRetryMs: number
}

/**
 * MiB of the young generation of a thread. What the threads allocate is either forgotten at once or
 * kept for long, so a larger one saves no work. Node's default is 48, and the engine keeps most of
 * it after a load.
 */
export const threadYoungGenerationMiB = 12

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
   * `members` is known to differ from the list that the log began with, so it cannot replace the
   * first configuration in a log that lost it.
   */
  readonly membersChanged?: boolean
  readonly timing: NodeTiming
  readonly limits: NodeLimits
  /**
   * Set at every start of a member that was added to an existing cluster; `members` is empty then.
   * Unset for a founder.
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
 * The information that a joining member receives from the cluster, so that it accepts connections
 * of the members before its log contains a configuration.
 */
export type Joining = MemberList & {
  /** See `ClusterRecord`. */
  readonly clusterId: string
  /**
   * Index of the first configuration with this member: a peer with an older configuration cannot
   * report the removal of this member.
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
    'the members of a new cluster include this one',
  )
  assert(joining === undefined || members.length === 0, 'a joining member does not found a cluster')
}

/**
 * Returns an election timeout minus two ticks, because the first tick may come at once, and each
 * tick may be a little early.
 */
function leasePromiseMs({ electionMs, tickMs }: NodeTiming): number {
  return Math.max(0, Math.floor(electionMs - 2 * tickMs))
}

/**
 * Returns the number of ticks in `promisedMs`, plus one, because the first tick may come at once;
 * nothing if the former promise is not longer than the present one.
 */
function formerPromiseTicks({
  electionMs,
  tickMs,
  promisedMs = 0,
}: NodeTiming): Pick<CoreConfig, 'formerPromiseTicks'> {
  return promisedMs > electionMs ? { formerPromiseTicks: Math.ceil(promisedMs / tickMs) + 1 } : {}
}

/** Number of heartbeat intervals from one heartbeat of a leader without work to the next. */
export const quietHeartbeats = 5

export function coreConfigOf(options: NodeOptions, random: CoreConfig['random']): CoreConfig {
  const { timing, limits } = options
  const electionTicks = Math.max(3, Math.round(timing.electionMs / timing.tickMs))
  // Rounded separately, an election timeout could be less than three heartbeat intervals.
  const heartbeatTicksMax = Math.floor(electionTicks / 3)
  const heartbeatTicks = Math.max(1, Math.round(timing.heartbeatMs / timing.tickMs))
  return {
    id: options.id,
    heartbeatTicks: Math.min(heartbeatTicks, heartbeatTicksMax),
    quietHeartbeatTicks: Math.max(1, Math.round((quietHeartbeats * timing.heartbeatMs) / timing.tickMs)),
    electionTicks,
    appendBytesMax: limits.appendBytesMax,
    inflightMessagesMax: limits.inflightMessagesMax,
    inflightBytesMax: limits.inflightBytesMax,
    uncommittedBytesMax: limits.uncommittedBytesMax,
    logCacheBytesMax: limits.logCacheBytesMax,
    readRoundsMax: limits.readRoundsMax,
    leasePromiseMs: leasePromiseMs(timing),
    ...formerPromiseTicks(timing),
    ...(isFirstCandidate(options) ? { firstElectionTicks: firstElectionTicks(timing) } : {}),
    random,
  }
}

/**
 * The other founders learn within this part of an election timeout that the cluster is founded, and
 * begin to vote.
 */
function firstElectionTicks({ electionMs, tickMs }: NodeTiming): number {
  return Math.max(2, Math.round(electionMs / tickMs / 6))
}

/** Whether this member is the voter with the lowest ID, which campaigns first. */
function isFirstCandidate({ id, members }: NodeOptions): boolean {
  const voters = members.filter(({ role }) => role === 'voter')
  return id === Math.min(...voters.map((voter) => voter.id))
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
