import type { NodeId } from '../../raft/index.ts'
import type { MemberReport } from '../state-agreement/member-report.ts'

/** Maximum age of a report that may raise the feature level, in ms. */
export const levelReportAgeMsMax = 5000

export type LevelKnowledge = {
  /** The cluster's feature level. */
  readonly current: number
  /**
   * Every member of the configuration, learners too: all that apply the log must support its rules.
   */
  readonly members: readonly { readonly id: NodeId }[]
  readonly self: { readonly id: NodeId; readonly featureLevelMax: number }
  /** Reports of other members, no older than `levelReportAgeMsMax`. */
  readonly reports: ReadonlyMap<NodeId, Pick<MemberReport, 'featureLevelMax'>>
}

/**
 * Returns the feature level that the cluster may rise to: the newest that every member supports. A
 * member without a recent report may run a program of any age, so it keeps the level where it is.
 *
 * @returns null: the level stays
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
