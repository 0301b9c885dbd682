import type { NodeId } from '../../raft/index.ts'
import type { MemberReport } from '../state-agreement/member-report.ts'

/** How old what a member said of itself may be when the feature level rises by it. */
export const levelReportAgeMsMax = 5000

export type LevelKnowledge = {
  /** The cluster's. */
  readonly current: number
  /** Everyone in the configuration, learners too: whoever applies the log must know its rules. */
  readonly members: readonly { readonly id: NodeId }[]
  readonly self: { readonly id: NodeId; readonly featureLevelMax: number }
  /** Of others, no older than `levelReportAgeMsMax`. */
  readonly reports: ReadonlyMap<NodeId, Pick<MemberReport, 'featureLevelMax'>>
}

/**
 * The feature level the cluster may rise to: the newest that every member knows. A member that has not said lately what
 * it knows may be a program of any age, so it keeps the level where it is.
 *
 * @returns null: it stays
 */
export function nextLevel({ current, members, self, reports }: LevelKnowledge): number | null {
  if (!members.some(({ id }) => id === self.id)) return null
  let known = self.featureLevelMax
  for (const { id } of members) {
    if (id === self.id) continue
    const report = reports.get(id)
    if (report === undefined) return null
    known = Math.min(known, report.featureLevelMax)
  }
  return known > current ? known : null
}
