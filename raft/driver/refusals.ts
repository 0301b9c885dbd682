import type { Configuration, NodeId } from '../core/types.ts'

/**
 * Whether so many voters refuse a member that it must believe them: a majority of the other voters,
 * in both halves of a joint configuration. Then no quorum of the configuration is left that the
 * member could belong to, so it loses nothing by ending; and no minority, whatever it says, ends a
 * member.
 */
export function isProof(
  { voters, votersOutgoing }: Pick<Configuration, 'voters' | 'votersOutgoing'>,
  self: NodeId,
  refusing: ReadonlySet<NodeId>,
): boolean {
  const refusedBy = (set: readonly NodeId[]): boolean => {
    const others = set.filter((id) => id !== self)
    return 2 * others.filter((id) => refusing.has(id)).length > others.length
  }
  return refusedBy(voters) && (votersOutgoing === null || refusedBy(votersOutgoing))
}
