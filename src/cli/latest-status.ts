import type { MemberStatus } from './cluster-status.ts'

export type Listed = MemberStatus['members'][number]

/**
 * Returns the status with the highest term among those with a leader; null: none, so the membership
 * is unknown.
 */
export function latestStatus(statuses: readonly (MemberStatus | null)[]): MemberStatus | null {
  const given = statuses.filter((status) => status !== null).filter(({ leader }) => leader !== null)
  return given.toSorted((a, b) => b.term - a.term)[0] ?? null
}

/** Returns whether the cluster reports that it has no such member; `false` also when unknown. */
export function isRemoved(status: MemberStatus | null, name: string): boolean {
  return status !== null && !status.members.some((member) => member.name === name)
}

/** Returns the members with other names, which run elsewhere and count for the majority, too. */
export function otherMembers(status: MemberStatus | null, names: readonly string[]): readonly Listed[] {
  return (status?.members ?? []).filter(({ name }) => !names.includes(name))
}
