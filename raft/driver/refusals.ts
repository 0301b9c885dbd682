import type { Configuration, NodeId } from '../core/types.ts'

/**
 * Returns whether a majority of the other voters refuses a member, in both halves of a joint
 * configuration. Then the member cannot be part of a quorum, so it may end. A minority cannot end a
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
