import type { MemberStatus } from './cluster-status.ts'

export type Listed = MemberStatus['members'][number]

/** What the newest of those says that know a leader; null: none does, so nobody knows who belongs to the cluster. */
export function newestWord(statuses: readonly (MemberStatus | null)[]): MemberStatus | null {
  const said = statuses.filter((status) => status !== null).filter(({ leader }) => leader !== null)
  return said.toSorted((a, b) => b.term - a.term)[0] ?? null
}

/** Whether the cluster says that it has no member of that name. `false` also when nobody knows. */
export function isNoMember(word: MemberStatus | null, name: string): boolean {
  return word !== null && !word.members.some((member) => member.name === name)
}

/** Members besides those: they run elsewhere, and count for the majority all the same. */
export function membersBesides(word: MemberStatus | null, names: readonly string[]): readonly Listed[] {
  return (word?.members ?? []).filter(({ name }) => !names.includes(name))
}
