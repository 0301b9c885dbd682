import type { Configuration } from '../../raft/index.ts'
import type { MemberChange } from '../../raft/index.ts'

export type QuorumGuardOptions = {
  /** The decided configuration, and those that may still be. */
  readonly configurations: () => readonly Configuration[]
  /** Changes that were asked for, and may be made from now on. */
  readonly changes: () => readonly MemberChange[]
  /** A member, by its id, holds all that it promised; so does one that is still to come. */
  readonly isSound: (id: number) => boolean
  /** Its log and its vote are what they were, whatever became of its state. */
  readonly canVote: (id: number) => boolean
}

/**
 * Who may vote from now on, by whatever configuration, and whether a majority of them is sound in any case. FaultRates stays
 * below that: no cluster survives the loss of what most of its voters promised, nor one who takes the sound ones out.
 */
export class QuorumGuard {
  readonly #options: QuorumGuardOptions

  constructor(options: QuorumGuardOptions) {
    this.#options = options
  }

  /**
   * Whether the cluster can do without what this member promised. A wrong state is sent on to others before anybody
   * notices, so members whose state alone is lost may be many; their votes are needed all the same.
   */
  canLose(id: number): boolean {
    const { configurations, changes, isSound, canVote } = this.#options
    if (!canVote(id)) return true
    const isLeft = isSound(id) ? isSound : canVote
    return keepsSoundMajority(configurations(), changes(), (other) => other !== id && isLeft(other))
  }

  /** Whether this may be asked for too. */
  canChange(change: MemberChange): boolean {
    const { configurations, changes, isSound } = this.#options
    return keepsSoundMajority(configurations(), [...changes(), change], isSound)
  }
}

/**
 * The worst of all majorities that can come of it: whoever may go or come counts where that makes it worse. Each voter that
 * is sound counts one, each other one less than nothing.
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

/** Whose vote it may give or take. */
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

/** A learner on its way to a vote, and whose place it takes. */
function inWaiting({ id, role, wantedRole, replaces }: Configuration['members'][number]): readonly number[] {
  if (role === 'voter' || wantedRole === 'learner') return []
  return replaces === null ? [id] : [id, replaces]
}
