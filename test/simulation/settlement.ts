import type { MembershipActions } from './membership-actions.ts'
import type { Member } from './member.ts'
import type { Oracle } from './oracle.ts'

/**
 * Why who belongs to the cluster is not settled, though everybody is well: all that was asked for is answered, what is in
 * force is decided, learners on their way to a vote have it (L4), and whoever is none any more has result so (I8).
 *
 * @param members all there ever were
 * @returns one line each; empty when all is settled
 */
export function unsettledMembership(
  members: readonly Member[],
  { memberships, configurations }: Oracle,
  membership: MembershipActions,
): readonly string[] {
  const found: string[] = []
  if (!membership.settled) found.push('a change of the members is not answered')
  const { configuration } = memberships.decided
  if (configurations.length > 1 || configuration.votersOutgoing !== null)
    found.push('a change is not decided')
  for (const { id, role, wantedRole } of configuration.members) {
    const comes = members.find((member) => member.id === id)?.recoverable === true
    if (comes && role === 'learner' && wantedRole === 'voter') found.push(`m${id} is not promoted`)
  }
  const here = new Set<number>(configuration.members.map(({ id }) => id))
  for (const member of members) {
    if (!memberships.isGone(member.id) || !member.recoverable) continue
    // Of those that it knows too many may be gone: then nobody can prove it.
    const known = [...(member.instance?.transport.peers.values() ?? [])]
    const peers = known.flatMap(({ id, role }) => (role === 'voter' ? [id] : []))
    const { voters = [] } = member.instance?.node.status.decided ?? {}
    const others = (voters.length > 0 ? voters : peers).filter((id) => Number(id) !== member.id)
    const telling = others.filter(
      (id) => here.has(id) && members.find((one) => one.id === id)?.running === true,
    )
    const hears = 2 * telling.length > others.length
    if (!member.knowsRemoval && hears) found.push(`m${member.id} does not know that it is removed`)
  }
  return found
}
