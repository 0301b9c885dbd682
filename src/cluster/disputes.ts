import { noIndex } from '../../raft/index.ts'
import type { LogIndex, NodeId } from '../../raft/index.ts'
import type { CopiedStretch, DigestSample, MemberReport } from './member-report.ts'
import { comparedLast } from './state-agreement.ts'
import type { Testimony } from './state-agreement.ts'

type LastWord = {
  /** Of the time when that member trusted its state. */
  readonly samples: readonly DigestSample[]
  readonly copied: readonly CopiedStretch[]
  /** Where the two were compared last, if they differed there. */
  readonly differedAt: LogIndex | null
  readonly isQuarantined: boolean
  /** Of differences up to there a majority has said that this member is right. */
  readonly confirmedUpTo: LogIndex
}

/** A member without a state, which had another one than this member at `index`. */
export type Dispute = { readonly id: NodeId; readonly index: LogIndex }

/**
 * What members without a trusted state said while they had one. A member that loses its state may have been the only
 * right one: that its disk rots does not say that what it had in memory was wrong. So whoever differed from it may not
 * write over it what nobody confirmed. Open until this member's state is proven where they differed or later, until a
 * majority confirms it against that member, until that member has a state again, or until it is no member. Kept in memory only: who starts again knows of none.
 */
export class Disputes {
  /** Bounded by the configuration. */
  readonly #words = new Map<NodeId, LastWord>()
  #provenUpTo: LogIndex = noIndex

  /**
   * @param own samples of this member, which trusts its state
   * @param reports the latest of everybody who was heard lately
   */
  note(
    own: readonly DigestSample[],
    reports: ReadonlyMap<NodeId, MemberReport>,
    members: readonly NodeId[],
  ): void {
    for (const id of this.#words.keys()) if (!members.includes(id)) this.#words.delete(id)
    for (const [id, { state, samples: told, copied: toldOf }] of reports) {
      const known = this.#words.get(id)
      const isQuarantined = state === 'quarantined'
      if (isQuarantined && known === undefined) continue
      const samples = isQuarantined ? (known?.samples ?? []) : told
      const copied = isQuarantined ? (known?.copied ?? []) : toldOf
      // A state that came after a quarantine is another one.
      const last = known?.isQuarantined === true && !isQuarantined ? undefined : known
      const compared = comparedLast(own, samples)
      const found = compared?.differs === true ? compared.index : null
      const differedAt = compared === null ? (last?.differedAt ?? null) : found
      this.#words.set(id, {
        samples,
        copied,
        differedAt,
        isQuarantined,
        confirmedUpTo: last?.confirmedUpTo ?? noIndex,
      })
    }
  }

  /** The state of this member is proven up to there. */
  proven(index: LogIndex): void {
    if (index > this.#provenUpTo) this.#provenUpTo = index
  }

  /** @param isConfirmed whether a majority has this member's state at `index` or later, and not theirs */
  confirm(isConfirmed: (theirs: Testimony, index: LogIndex) => boolean): void {
    for (const [id, word] of this.#words) {
      const { differedAt, isQuarantined, confirmedUpTo } = word
      if (!isQuarantined || differedAt === null || differedAt <= confirmedUpTo) continue
      if (isConfirmed(word, differedAt)) this.#words.set(id, { ...word, confirmedUpTo: differedAt })
    }
  }

  /** Of members that were heard lately, ascending by id. */
  open(reports: ReadonlyMap<NodeId, MemberReport>): readonly Dispute[] {
    const found: Dispute[] = []
    for (const [id, { differedAt, isQuarantined, confirmedUpTo }] of this.#words) {
      if (!isQuarantined || differedAt === null || !reports.has(id)) continue
      if (differedAt <= this.#provenUpTo || differedAt <= confirmedUpTo) continue
      found.push({ id, index: differedAt })
    }
    return found.toSorted((a, b) => a.id - b.id)
  }

  /** The state of this member is not to be trusted: it says nothing about others'. */
  clear(): void {
    this.#words.clear()
    this.#provenUpTo = noIndex
  }
}
