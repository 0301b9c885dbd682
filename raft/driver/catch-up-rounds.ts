import type { FollowerStatus } from '../core/ready.ts'
import type { LogIndex, NodeId } from '../core/types.ts'

/** One learner's way to a place in the log that was the end of it when the round began. */
type Round = { readonly target: LogIndex; readonly startedMs: number; readonly short: boolean }

/**
 * Tells which learners have caught up: a new voter that lags would make every commit wait for it.
 * Replication to a learner is cut into rounds, each up to where the log ended when it began; who
 * needed no longer for the last one than an election timeout lags by no more than that.
 *
 * @source Ongaro's thesis, 4.2.1
 */
export class CatchUpRounds {
  readonly #roundMsMax: number
  readonly #rounds = new Map<NodeId, Round>()

  constructor(roundMsMax: number) {
    this.#roundMsMax = roundMsMax
  }

  /** As of the last tick. */
  get caughtUp(): ReadonlySet<NodeId> {
    return new Set([...this.#rounds].filter(([, { short }]) => short).map(([id]) => id))
  }

  /** @param followers of a leader, everyone but itself */
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

  /** Leadership was lost: the next leader counts for itself. */
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
