import { noIndex } from '../../raft/index.ts'
import type { Configuration, LogIndex, NodeId } from '../../raft/index.ts'
import type { CopiedStretch } from './member-report.ts'

/** A member whose state is held against others', and by whose doing it has it. */
export type Witness = { readonly id: NodeId; readonly made: readonly CopiedStretch[] }

/**
 * Who applied what of a member's state at `index`, as far as it matters: the members that it was copied from, one after
 * the other, and since the latest copy the member itself.
 *
 * @param equalUpTo what was done up to there is known to have no part in a difference that is looked at
 */
export function witness(
  id: NodeId,
  copied: readonly CopiedStretch[],
  index: LogIndex,
  equalUpTo: LogIndex = noIndex,
): Witness {
  const own = { by: id, after: copied.at(-1)?.upTo ?? noIndex, upTo: index }
  const made = [...copied, own].filter(({ upTo }) => upTo > equalUpTo)
  return { id, made: made.map((one) => (one.after >= equalUpTo ? one : { ...one, after: equalUpTo })) }
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
