import type { FollowerStatus } from '../core/ready.ts'
import type { LogIndex, NodeId } from '../core/types.ts'

/**
 * The replication to one learner up to `target`, the last index when the round began. `short`: the
 * previous round did not take too long, and this one has not done so yet.
 */
type Round = { readonly target: LogIndex; readonly startedMs: number; readonly short: boolean }

/**
 * Reports which learners have caught up: a new voter that lags would delay every commit.
 * Replication to a learner is divided into rounds, each up to the end that the log had when the
 * round began. A learner whose last round took no longer than an election timeout lags by no longer
 * than that.
 *
 * @source Ongaro's thesis, 4.2.1
 */
export class CatchUpRounds {
  readonly #roundMsMax: number
  readonly #rounds = new Map<NodeId, Round>()

  constructor(roundMsMax: number) {
    this.#roundMsMax = roundMsMax
  }

  /** The learners that had caught up at the last tick. */
  get caughtUp(): ReadonlySet<NodeId> {
    return new Set([...this.#rounds].filter(([, { short }]) => short).map(([id]) => id))
  }

  /** @param followers all followers of this leader */
  tick(
    now: number,
    learners: readonly NodeId[],
    followers: readonly FollowerStatus[],
    lastIndex: LogIndex,
  ): void {
    for (const id of this.#rounds.keys()) if (!learners.includes(id)) this.#rounds.delete(id)
    for (const follower of followers) {
      if (learners.includes(follower.id)) {
        this.#rounds.set(follower.id, this.#next(now, follower, lastIndex))
      }
    }
  }

  /** Removes all rounds, because leadership is lost or there are no learners. */
  clear(): void {
    this.#rounds.clear()
  }

  #next(now: number, { id, match, recentlyActive }: FollowerStatus, lastIndex: LogIndex): Round {
    const round = this.#rounds.get(id)
    if (round === undefined) return { target: lastIndex, startedMs: now, short: false }
    const inTime = recentlyActive && now - round.startedMs <= this.#roundMsMax
    if (match >= round.target) return { target: lastIndex, startedMs: now, short: inTime }
    return { ...round, short: round.short && inTime }
  }
}
