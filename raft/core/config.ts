import { assert } from '../../base/assert.ts'
import type { Random } from '../../base/random.ts'
import type { NodeId } from './types.ts'

/** The settings of one core. Time is counted in ticks; the driver decides how long a tick is. */
export type CoreConfig = {
  readonly id: NodeId
  /**
   * Minimum election timeout: a follower without a message of the leader for this many ticks, up to
   * twice as many (drawn again each time), campaigns.
   */
  readonly electionTicks: number
  /**
   * A leader sends a heartbeat at least this often, unless `quietHeartbeatTicks` applies. At most a
   * third of `electionTicks`.
   */
  readonly heartbeatTicks: number
  /**
   * A leader without work sends a heartbeat at least this often, see `quiet.ts`. At least
   * `heartbeatTicks`; unset: equal to it. The same on all members.
   */
  readonly quietHeartbeatTicks?: number
  /** Limit of the entries in one append message, in bytes; a larger entry is sent alone. */
  readonly appendBytesMax: number
  /** Limit of the append messages in flight to one follower. */
  readonly inflightMessagesMax: number
  /** No further append is sent to a follower while this many bytes are in flight to it. */
  readonly inflightBytesMax: number
  /**
   * Limit of the uncommitted entries of a leader, in bytes; above it proposals are dropped. A
   * larger proposal is accepted while no entry is uncommitted.
   */
  readonly uncommittedBytesMax: number
  /** Limit of the committed and durable entries in memory, for followers that lag a little. */
  readonly logCacheBytesMax: number
  /** Limit of the ReadIndex rounds that wait for a quorum; above it reads are dropped. */
  readonly readRoundsMax: number
  /**
   * For this many ms of its own clock after each response with a promise, this member votes for no
   * other member and does not campaign. A little less than the duration of `electionTicks`, as the
   * first tick may come at once and each may be a little early. Unset: no promise.
   */
  readonly leasePromiseMs?: number
  /**
   * For this many ticks from its start this member keeps the promise that an earlier process of it
   * may have made, if that is longer than `electionTicks`. Unset: that promise was not longer.
   */
  readonly formerPromiseTicks?: number
  /**
   * A member that has not taken part in any term campaigns after this many ticks: one member of a
   * new cluster, so that the others do not wait for an election timeout. Unset: after an election
   * timeout.
   */
  readonly firstElectionTicks?: number
  /** Draws election timeouts only; seeded in simulation. */
  readonly random: Random
}

/**
 * Limit of the responses that wait for an earlier write. Above it the oldest is dropped as if it
 * were lost in transit; the requester retries.
 */
export const heldMessagesMax = 1024

/**
 * The clocks and the ticks of two members run at rates that differ by less than this fraction; see
 * `lease.ts`.
 */
export const leaseDriftMax = 0.1

/**
 * Limit of the voters in one cluster, including learners to be promoted: more only slow it down.
 * Above it a change is refused with `too-many-members`.
 */
export const votersMax = 9
/** Limit of the members in one cluster. Above it a change is refused with `too-many-members`. */
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
