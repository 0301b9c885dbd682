import { assert } from '../../base/assert.ts'
import type { Random } from '../../base/random.ts'
import type { NodeId } from './types.ts'

/** The settings of one core. Time is counted in ticks; the shell decides how long a tick is. */
export type CoreConfig = {
  readonly id: NodeId
  /**
   * Minimum election timeout: a follower without a message of the leader for this many ticks, up to
   * twice as many (drawn again each time), campaigns.
   */
  readonly electionTicks: number
  /** A leader sends a heartbeat at least this often. At most a third of `electionTicks`. */
  readonly heartbeatTicks: number
  /**
   * A leader without work sends a heartbeat at least this often, see `quiet.ts`. At least
   * `heartbeatTicks`, which it is if unset. The same on all members.
   */
  readonly quietHeartbeatTicks?: number
  /** Entries in one append message, in bytes; one entry always fits. */
  readonly appendBytesMax: number
  /** Append messages in flight to one follower. */
  readonly inflightMessagesMax: number
  /** Bytes in flight to one follower. */
  readonly inflightBytesMax: number
  /** Proposed and not yet committed on the leader; above it proposals are dropped. */
  readonly uncommittedBytesMax: number
  /** Persisted entries kept in memory for followers that lag a little. */
  readonly logCacheBytesMax: number
  /** ReadIndex rounds waiting for a quorum; above it reads are dropped. */
  readonly readRoundsMax: number
  /**
   * For this many ms of its own clock after each response to a leader, this member votes for no
   * other and does not campaign. A little less than `electionTicks`, as the first tick may come at
   * once and each may be a little early. Unset: no promise.
   */
  readonly leasePromiseMs?: number
  /**
   * For this many ticks from its start this member keeps the promise that an earlier process of it
   * may have made, if that is longer than `electionTicks`. Unset: that promise was not longer.
   */
  readonly formerPromiseTicks?: number
  /** Draws election timeouts only; seeded in simulation. */
  readonly random: Random
}

/**
 * Responses that wait for an earlier write. When full: the oldest is dropped as if it were lost in
 * transit; the requester retries.
 */
export const heldMessagesMax = 1024

/**
 * The clocks of two members, ticks included, run at rates that differ by less than this part; see
 * `lease.ts`.
 */
export const leaseDriftMax = 0.1

/**
 * Voters in one cluster, including learners to be promoted: more only slow it down. When full:
 * `too-many-members`.
 */
export const votersMax = 9
/** Members in one cluster. When full: `too-many-members`. */
export const membersMax = 32
/**
 * Limit of each text of a member in a configuration, in bytes: a host name has up to 253, followed
 * by a port.
 */
export const memberTextBytesMax = 320
/**
 * The highest feature level that a member may state. Only releases that change how commands apply
 * add a level, so real ones are far lower.
 */
export const featureLevelsMax = 65_535

export function checkCoreConfig(config: CoreConfig): void {
  assert(config.heartbeatTicks >= 1, 'a heartbeat interval is at least one tick')
  assert(config.electionTicks >= 3 * config.heartbeatTicks, 'an election timeout spans three heartbeats')
  const { quietHeartbeatTicks = config.heartbeatTicks } = config
  assert(quietHeartbeatTicks >= config.heartbeatTicks, 'quiet heartbeats are not more frequent')
  assert(config.appendBytesMax >= 1, 'an append carries at least a byte')
  assert(config.inflightMessagesMax >= 1, 'one append may be in flight')
  assert(config.inflightBytesMax >= config.appendBytesMax, 'a full append fits the window')
  assert(config.uncommittedBytesMax >= config.appendBytesMax, 'a full append may be uncommitted')
  assert(config.logCacheBytesMax >= config.appendBytesMax, 'a full append fits the cache')
  assert(config.readRoundsMax >= 1, 'one round of reads may wait')
}
