import type { Target } from './fault-target.ts'
import type { Member } from './member.ts'

/** @param members current members, and former ones that do not know of their removal; not empty */
export function findTarget(members: readonly Member[], { member, preferLeader }: Target): Member {
  const leader = preferLeader ? leaderOf(members) : undefined
  return leader ?? members.find(({ id }) => id === member) ?? (members[member % members.length] as Member)
}

export function leaderOf(members: readonly Member[]): Member | undefined {
  return members.find((member) => member.instance?.node.status.role === 'leader')
}
