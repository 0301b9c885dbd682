import { logIndex, noIndex } from '../../raft/index.ts'
import type { Configuration, LogIndex, NodeId } from '../../raft/index.ts'
import type { CopiedStretch } from './member-report.ts'

/** A member whose state is held against others', and by whose doing it has it. */
export type Witness = { readonly id: NodeId; readonly made: readonly CopiedStretch[] }

/** A member whose state differs from theirs who witness against it. What it has in common with them tells nothing. */
export type Accused = {
  /** It is known to have been equal to them up to there. */
  readonly equalUpTo: LogIndex
  /** By whose doing it has its own state: mistakes that were made in that are its own too. */
  readonly copied: readonly CopiedStretch[]
}

/**
 * Who applied what of a member's state at `index`, as far as it matters: the members that it was copied from, one after
 * the other, and since the latest copy the member itself.
 *
 * @param accused whom it is held against: what was done up to where each of them has it too is left out
 */
export function witness(
  id: NodeId,
  copied: readonly CopiedStretch[],
  index: LogIndex,
  accused: readonly Accused[] = [],
): Witness {
  const own = { by: id, after: copied.at(-1)?.upTo ?? noIndex, upTo: index }
  const made = [...copied, own].flatMap((one) => {
    const shared = Math.min(...accused.map((other) => sharedUpTo(one.by, index, other)))
    const after = accused.length === 0 ? one.after : logIndex(Math.max(one.after, shared))
    return one.upTo > after ? [{ ...one, after }] : []
  })
  return { id, made }
}

/** Up to where the accused has what that member did. */
function sharedUpTo(by: NodeId | null, index: LogIndex, { equalUpTo, copied }: Accused): LogIndex {
  let newest = equalUpTo
  for (const stretch of copied) {
    if (by !== null && stretch.by === by && stretch.upTo <= index && stretch.upTo > newest)
      newest = stretch.upTo
  }
  return newest
}

/**
 * Whether these witnesses make a majority of the voters, and of both sets while the configuration is joint. Those that
 * have a stretch of the log from one member count as one, and so does whoever hangs together with them through others:
 * a mistake that was made in it is the mistake of all of them.
 */
export function isMajorityOfWitnesses(witnesses: readonly Witness[], configuration: Configuration): boolean {
  const groups: Witness[][] = []
  for (const one of witnesses) {
    const related = groups.filter((group) => group.some((other) => haveCommon(one, other)))
    const apart = groups.filter((group) => !related.includes(group))
    groups.splice(0, groups.length, ...apart, [one, ...related.flat()])
  }
  return isMajorityIn(configuration, (set) => {
    return groups.filter((group) => group.some(({ id }) => set.includes(id))).length
  })
}

/** Of the voters; while the configuration is joint, of both sets. */
export function isMajority(ids: readonly NodeId[], configuration: Configuration): boolean {
  return isMajorityIn(configuration, (set) => set.filter((id) => ids.includes(id)).length)
}

/** All voters, of both sets while the configuration is joint. */
export function areAllVoters(ids: readonly NodeId[], { voters, votersOutgoing }: Configuration): boolean {
  return [...voters, ...(votersOutgoing ?? [])].every((id) => ids.includes(id))
}

function isMajorityIn(
  { voters, votersOutgoing }: Configuration,
  countIn: (set: readonly NodeId[]) => number,
): boolean {
  const isMajorityOf = (set: readonly NodeId[]): boolean => 2 * countIn(set) > set.length
  return isMajorityOf(voters) && (votersOutgoing === null || isMajorityOf(votersOutgoing))
}

function haveCommon(one: Witness, other: Witness): boolean {
  return one.made.some((a) =>
    other.made.some((b) => {
      const isSameHand = a.by === b.by || a.by === null || b.by === null
      return isSameHand && Math.max(a.after, b.after) < Math.min(a.upTo, b.upTo)
    }),
  )
}
