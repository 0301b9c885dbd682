import { assert } from '../../base/assert.ts'
import type { Random } from '../../base/random.ts'
import type { NodeId } from './types.ts'

/** The settings of one core. Time is counted in ticks; the shell decides how long a tick is. */
export type CoreConfig = {
  readonly id: NodeId
  /**
   * A follower that hears no leader for this many ticks up to twice as many (drawn anew each time)
   * stands.
   */
  readonly electionTicks: number
  /** A leader sends a heartbeat at least this often. At most a third of `electionTicks`. */
  readonly heartbeatTicks: number
  /** Entries in one append message, in bytes; one entry always fits. */
  readonly appendBytesMax: number
  /** Append messages under way to one follower. */
  readonly inflightMessagesMax: number
  /** Bytes under way to one follower. */
  readonly inflightBytesMax: number
  /** Proposed and not yet committed on the leader; above it proposals are dropped. */
  readonly uncommittedBytesMax: number
  /** Persisted entries kept in memory for followers that lag a little. */
  readonly logCacheBytesMax: number
  /** ReadIndex rounds waiting for a quorum; above it reads are dropped. */
  readonly readRoundsMax: number
  /**
   * For so many ms after an answer to a leader this member helps nobody else into office, by any
   * clock: a little less than `electionTicks`, as the first tick may come at once and each a little
   * early. Unset: it promises nothing.
   */
  readonly leasePromiseMs?: number
  /**
   * For so many ticks from its start this member keeps what a former process of it may have
   * promised, if that is longer than `electionTicks`. Unset: it promised no more than it does now.
   */
  readonly formerPromiseTicks?: number
  /** Draws election timeouts only; seeded in simulation. */
  readonly random: Random
}

/**
 * Answers that wait for a write handed out before, at most. When full: the oldest is forgotten, as
 * if it were lost on the way; whoever asked asks again once the disk goes on.
 */
export const heldMessagesMax = 1024

/** Clocks of two members, ticks included, differ by less than this part; see `lease.ts`. */
export const leaseDriftMax = 0.1

/**
 * Voters in one cluster, those on their way included: more only make it slower. When full:
 * `too-many-members`.
 */
export const votersMax = 9
/** Members in one cluster. When full: `too-many-members`. */
export const membersMax = 32
/**
 * Bytes of each text that a configuration has of a member: host names go to 253, with a port
 * behind.
 */
export const memberTextBytesMax = 320
/** Levels are numbered by releases that change how commands apply. */
export const featureLevelsMax = 65_535

export function checkCoreConfig(config: CoreConfig): void {
  assert(config.heartbeatTicks >= 1, 'a leader sends a heartbeat at least every heartbeat interval')
  assert(config.electionTicks >= 3 * config.heartbeatTicks, 'an election timeout spans three heartbeats')
  assert(config.appendBytesMax >= 1, 'an append carries at least a byte')
  assert(config.inflightMessagesMax >= 1, 'one append may be under way')
  assert(config.inflightBytesMax >= config.appendBytesMax, 'a full append fits the window')
  assert(config.uncommittedBytesMax >= config.appendBytesMax, 'a full append may be uncommitted')
  assert(config.logCacheBytesMax >= config.appendBytesMax, 'a full append fits the cache')
  assert(config.readRoundsMax >= 1, 'one round of reads may wait')
}
