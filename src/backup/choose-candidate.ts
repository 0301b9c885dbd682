import type { Configuration, NodeId } from '../../raft/index.ts'
import { BackupFailure } from './errors.ts'
import type { RecoveryCandidate, CandidateLog, UnprovenWrite } from './recovery-candidate.ts'

/** A survivor that can be read. */
export type ReadableCandidate = RecoveryCandidate & { readonly log: CandidateLog }

export type RecoveryChoice = {
  readonly best: ReadableCandidate
  /** Voters of the best's configuration that are not here, or damaged, by name. */
  readonly lost: readonly string[]
  /**
   * Whether those can have had writes acknowledged as the members are. If not, they still can after a change of one member,
   * which nobody here needs to have heard of: without a voter that is here, or with one more, they may be a majority.
   */
  readonly lostDecide: boolean
  /** The highest index that anybody here knows to be committed. */
  readonly committed: number
  /** Of the best, above that: nobody here knows whether they were acknowledged. */
  readonly unproven: readonly UnprovenWrite[]
  /** Entries of others that the best does not have. */
  readonly dropped: readonly DroppedEntries[]
  /** Who knows of committed entries that no whole survivor has, and up to where; null: nobody. */
  readonly missed: { readonly member: string; readonly from: number; readonly to: number } | null
}

/** A lost leader may have had them acknowledged all the same, by entries of its own behind them. */
export type DroppedEntries = {
  readonly member: string
  readonly from: number
  readonly to: number
  readonly writes: readonly UnprovenWrite[]
}

/**
 * From whom the cluster goes on. It must have what any survivor knows to be committed; of those that do, and are whole,
 * it is the one whose last entry has the latest term, then the highest index, whom the others would elect. Of equal logs
 * one counts first whose state no other member disagreed with; a better log is never given up for that.
 *
 * The order matters: a leader of which nothing survived can have committed an older entry than the last one of a survivor
 * which it never reached, so that the latest term alone would choose against what is known.
 *
 * @throws BackupFailure `refused`: different clusters, nobody whole, or a majority is here and needs no recovery
 * @source Ongaro and Ousterhout, "In Search of an Understandable Consensus Algorithm", sections 5.4.1 and 5.4.2
 */
export function chooseCandidate(candidates: readonly RecoveryCandidate[]): RecoveryChoice {
  sameCluster(candidates)
  const whole = candidates.filter(isReadable).filter(({ damage }) => damage === null)
  const knowing = candidates
    .filter(isReadable)
    .toSorted(({ log: a }, { log: b }) => b.committed - a.committed)
  const [first] = knowing
  const able = whole.filter(({ log }) => first !== undefined && hasCommitted(log, first.log))
  const [best] = (able.length > 0 ? able : whole).toSorted(
    ({ log: a, suspect: suspectA }, { log: b, suspect: suspectB }) =>
      b.lastTerm - a.lastTerm ||
      b.lastIndex - a.lastIndex ||
      Number(suspectA !== null) - Number(suspectB !== null) ||
      b.committed - a.committed,
  )
  if (best === undefined)
    throw new BackupFailure('refused', 'none of the directories is whole: restore a snapshot instead')
  const { configuration } = best.log
  const here = whole.map(({ identity }) => identity.id)
  if (isMajority(configuration, here)) {
    const names = whole.map(({ identity }) => identity.member).join(', ')
    throw new BackupFailure(
      'refused',
      `the directories of ${names} are whole, and a majority: nothing is to be recovered, start them`,
    )
  }
  const away = votersOf(configuration).filter((id) => !here.includes(id))
  const lost = away.map((id) => configuration.members.find((member) => member.id === id)?.name ?? String(id))
  // A joint configuration may have been left since, for the incoming one.
  const lostDecide = isMajority({ ...configuration, votersOutgoing: null }, away)
  const committed = first === undefined ? 0 : first.log.committed
  const dropped = knowing
    .filter((other) => other !== best)
    .map(({ identity, log }) => {
      const from = sharedUpTo(best.log, log) + 1
      const writes = log.unproven.filter(({ index }) => index >= from)
      return { member: identity.member, from, to: log.lastIndex, writes }
    })
    .filter(({ from, to }) => from <= to)
  const unproven = best.log.unproven.filter(({ index }) => index > committed)
  const missed =
    able.length > 0 || first === undefined
      ? null
      : { member: first.identity.member, from: sharedUpTo(best.log, first.log) + 1, to: committed }
  return { best, lost, lostDecide, committed, unproven, dropped, missed }
}

function hasCommitted(log: CandidateLog, known: CandidateLog): boolean {
  return log === known || log.baseIndex >= known.committed || sharedUpTo(log, known) >= known.committed
}

function isReadable(candidate: RecoveryCandidate): candidate is ReadableCandidate {
  return candidate.log !== null
}

/**
 * Directories of a cluster that was founded anew under the same names look alike but for the cluster's id.
 *
 * @throws BackupFailure `refused` that says which belong together
 */
function sameFounding(candidates: readonly RecoveryCandidate[]): void {
  const directories = new Map<string, string[]>()
  for (const { clusterId, directory } of candidates) {
    if (clusterId !== null) directories.set(clusterId, [...(directories.get(clusterId) ?? []), directory])
  }
  if (directories.size <= 1) return
  const groups = [...directories].map(([id, paths]) => `${paths.join(' and ')} of cluster ${id}`)
  throw new BackupFailure(
    'refused',
    `the directories are of clusters that were founded apart: ${groups.join('; ')}; give those of one`,
  )
}

function sameCluster(candidates: readonly RecoveryCandidate[]): void {
  const [first, ...rest] = candidates
  for (const other of rest) {
    const [a, b] = [first?.identity, other.identity]
    if (a?.cluster !== b.cluster || a.life !== b.life) {
      throw new BackupFailure(
        'refused',
        `${first?.directory ?? ''} and ${other.directory} are of different clusters, or lives of one: give those of one`,
      )
    }
    if (a.member === b.member) {
      const both = `${first?.directory ?? ''} and ${other.directory} are both member ${b.member}`
      throw new BackupFailure('refused', `${both}: give the one that ran last`)
    }
  }
  sameFounding(candidates)
}

function votersOf({ voters, votersOutgoing }: Configuration): readonly NodeId[] {
  return [...new Set([...voters, ...(votersOutgoing ?? [])])]
}

function isMajority({ voters, votersOutgoing }: Configuration, ids: readonly NodeId[]): boolean {
  const of = (set: readonly NodeId[]): boolean => 2 * set.filter((id) => ids.includes(id)).length > set.length
  return of(voters) && (votersOutgoing === null || of(votersOutgoing))
}

/**
 * Up to where two logs are one: the highest index at which both have the same term; where one was cut behind that, what
 * both know to be committed.
 *
 * @source as above, section 5.3
 */
function sharedUpTo(one: CandidateLog, other: CandidateLog): number {
  const highest = Math.min(one.lastIndex, other.lastIndex)
  for (let at = highest; at >= Math.max(one.baseIndex, other.baseIndex); at--) {
    if (termAt(one, at) === termAt(other, at)) return at
  }
  return Math.min(highest, one.committed, other.committed)
}

/** @param index from the base on */
function termAt({ baseIndex, baseTerm, termRuns }: CandidateLog, index: number): number {
  const run = index === baseIndex ? undefined : termRuns.findLast(({ first }) => first <= index)
  return run?.term ?? baseTerm
}
