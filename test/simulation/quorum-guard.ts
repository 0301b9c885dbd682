import type { Configuration } from '../../raft/index.ts'
import type { MemberChange } from '../../raft/index.ts'

export type QuorumGuardOptions = {
  /** The committed configuration, and those that may still be committed. */
  readonly configurations: () => readonly Configuration[]
  /** Requested changes that may still be made. */
  readonly changes: () => readonly MemberChange[]
  /**
   * Returns whether a member, by its id, holds everything that it acknowledged; true for a future
   * member.
   */
  readonly isSound: (id: number) => boolean
  /** Returns whether its log and its vote are intact, whatever happened to its state. */
  readonly canVote: (id: number) => boolean
}

/**
 * Keeps a majority of sound voters in every configuration that may commit. Faults stay below that:
 * no cluster survives the loss of the durable state of most voters, nor the removal of the sound
 * ones.
 */
export class QuorumGuard {
  readonly #options: QuorumGuardOptions

  constructor(options: QuorumGuardOptions) {
    this.#options = options
  }

  /**
   * Returns whether the cluster can lose the durable state of this member. A wrong state may be
   * copied before it is detected, so a loss of the state alone is allowed for several members;
   * their votes are still needed.
   */
  canLose(id: number): boolean {
    const { configurations, changes, isSound, canVote } = this.#options
    if (!canVote(id)) return true
    const isLeft = isSound(id) ? isSound : canVote
    return keepsSoundMajority(configurations(), changes(), (other) => other !== id && isLeft(other))
  }

  /** Returns whether this change may be requested in addition. */
  canChange(change: MemberChange): boolean {
    const { configurations, changes, isSound } = this.#options
    return keepsSoundMajority(configurations(), [...changes(), change], isSound)
  }
}

/**
 * Checks the worst possible majority: each uncertain member counts in the way that makes it worse.
 * A sound voter counts 1, any other -1.
 */
export function keepsSoundMajority(
  configurations: readonly Configuration[],
  changes: readonly MemberChange[],
  isSound: (id: number) => boolean,
): boolean {
  const mayVary = new Set<number>([
    ...changes.flatMap(varying),
    ...configurations.flatMap(({ members }) => members.flatMap(inWaiting)),
  ])
  return configurations.every(({ voters, votersOutgoing }) =>
    [voters, votersOutgoing ?? voters].every((present) => {
      const all = new Set<number>([...present, ...mayVary])
      const worth = (id: number): number => (isSound(id) ? (mayVary.has(id) ? 0 : 1) : -1)
      return [...all].reduce((sum, id) => sum + worth(id), 0) > 0
    }),
  )
}

/** Returns the members that the change may make voters or non-voters. */
function varying(change: MemberChange): readonly number[] {
  switch (change.kind) {
    case 'add':
      return change.member.wantedRole === 'learner' ? [] : inWaiting({ ...change.member, role: 'learner' })
    case 'remove':
    case 'set-role':
    case 'promote':
      return [change.id]
    case 'move':
      return []
  }
}

/** Returns a learner that will be promoted, and the member that it replaces. */
function inWaiting({ id, role, wantedRole, replaces }: Configuration['members'][number]): readonly number[] {
  if (role === 'voter' || wantedRole === 'learner') return []
  return replaces === null ? [id] : [id, replaces]
}
