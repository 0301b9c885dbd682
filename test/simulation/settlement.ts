import type { Configuration, NodeId } from '../../raft/core/types.ts'
import type { MembershipActions } from './membership-actions.ts'
import type { Member } from './member.ts'
import type { Oracle } from './oracle.ts'

/**
 * Returns the reasons why the membership is not settled although all members are healthy:
 * unanswered requests, uncommitted configurations, learners that are not promoted (L4), and removed
 * members that do not know it (I8).
 *
 * @param members all members, present and former
 * @returns one line each; empty when everything is settled
 */
export function unsettledMembership(
  members: readonly Member[],
  { memberships, configurations }: Oracle,
  membership: MembershipActions,
): readonly string[] {
  const found: string[] = []
  // A member with a wrong state serves no clients. If all members copied one, none can respond.
  const present = members.filter(({ id, recoverable }) => recoverable && !memberships.isGone(id))
  const isNobodyRight = present.every(
    ({ instance, isRight }) => (instance?.machine ?? null) !== null && !isRight,
  )
  if (!membership.settled && !isNobodyRight) found.push('a membership change has no response')
  const { configuration } = memberships.decided
  if (configurations.length > 1 || configuration.votersOutgoing !== null)
    found.push('a membership change is not committed')
  for (const { id, role, wantedRole } of configuration.members) {
    const comes = members.find((member) => member.id === id)?.recoverable === true
    if (comes && role === 'learner' && wantedRole === 'voter') found.push(`m${id} is not promoted`)
  }
  const here = new Set<number>(configuration.members.map(({ id }) => id))
  for (const member of members) {
    if (!memberships.isGone(member.id) || !member.recoverable) continue
    // Too many of its known peers may be removed to confirm its removal.
    const known = [...(member.instance?.transport.peers.values() ?? [])]
    const peers = known.flatMap(({ id, role }) => (role === 'voter' ? [id] : []))
    const { voters = [], votersOutgoing = null } = member.instance?.node.status.decided ?? {}
    const isInformed = mustLearnRemoval(
      { voters: voters.length > 0 ? voters : peers, votersOutgoing },
      member.id,
      (id) => here.has(id) && members.find((one) => one.id === id)?.running === true,
    )
    if (!member.knowsRemoval && isInformed) found.push(`m${member.id} does not know that it is removed`)
  }
  return found
}

/**
 * Returns whether a removed member must learn of its removal: a majority of the other voters that
 * it knows can reject it, in a joint configuration of both halves.
 *
 * @param known the last committed configuration that it knows
 */
export function mustLearnRemoval(
  known: Pick<Configuration, 'voters' | 'votersOutgoing'>,
  self: number,
  rejects: (id: NodeId) => boolean,
): boolean {
  const { voters, votersOutgoing } = known
  const halves = votersOutgoing === null ? [voters] : [voters, votersOutgoing]
  return halves.every((half) => {
    const others = half.filter((id) => Number(id) !== self)
    return 2 * others.filter(rejects).length > others.length
  })
}
