import type { Configuration, NodeId } from '../../raft/index.ts'
import { BackupError } from './errors.ts'
import type { RecoveryCandidate, CandidateLog, UnprovenWrite } from './recovery-candidate.ts'

/** A candidate whose log can be read. */
export type ReadableCandidate = RecoveryCandidate & { readonly log: CandidateLog }

export type RecoveryChoice = {
  readonly best: ReadableCandidate
  /** Names of voters of the best candidate's configuration that are missing or damaged. */
  readonly lost: readonly string[]
  /**
   * Whether the lost voters alone could have committed writes under this configuration. If not,
   * they still could after a later change of one member that no candidate knows of: without one of
   * the present voters, or with an additional one, they may be a majority.
   */
  readonly lostDecide: boolean
  /** The highest index that a candidate knows to be committed. */
  readonly committed: number
  /** Writes of the best candidate above that index, which may or may not have been acknowledged. */
  readonly unproven: readonly UnprovenWrite[]
  /** Entries of other candidates that the best one does not have. */
  readonly dropped: readonly DroppedEntries[]
  /** The damaged member that has committed entries which no intact candidate has; null: none. */
  readonly missed: { readonly member: string; readonly from: number; readonly to: number } | null
}

/**
 * Entries that are dropped. A lost leader may nevertheless have committed them with a later entry
 * of its own.
 */
export type DroppedEntries = {
  readonly member: string
  readonly from: number
  readonly to: number
  readonly writes: readonly UnprovenWrite[]
}

/**
 * Chooses the candidate from which the cluster continues: an intact one that has every entry known
 * to be committed (if none has them all, any intact one), with the highest last term, then the
 * highest last index, as in an election. Between equal logs, a state that no other member disagreed
 * with is preferred, but never over a better log.
 *
 * The committed index comes first. A lost leader may have committed an entry without reaching some
 * candidate whose last entry is newer, so the last term alone could choose a log that lacks the
 * committed entry.
 *
 * @throws BackupError `refused`: different clusters, two directories of one member, no intact
 * candidate, none that was in a cluster, or a majority that needs no recovery
 * @source Ongaro and Ousterhout, "In Search of an Understandable Consensus Algorithm", sections
 * 5.4.1 and 5.4.2
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
    throw new BackupError('refused', 'none of the directories is intact: restore a snapshot instead')
  const { configuration } = best.log
  if (configuration.voters.length === 0) {
    const what = 'never received the configuration of a cluster, so there is nothing to continue from'
    throw new BackupError(
      'refused',
      `${best.directory} ${what}: give other directories, or restore a snapshot`,
    )
  }
  const here = whole.map(({ identity }) => identity.id)
  if (isMajority(configuration, here)) {
    const names = whole.map(({ identity }) => identity.member).join(', ')
    throw new BackupError(
      'refused',
      `the directories of ${names} are intact and a majority: no recovery is needed, start them`,
    )
  }
  const away = votersOf(configuration).filter((id) => !here.includes(id))
  const lost = away.map((id) => configuration.members.find((member) => member.id === id)?.name ?? String(id))
  // The cluster may have left a joint configuration since: only the incoming voters count.
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
 * Rejects directories of different foundings under the same names, which differ only in the cluster
 * ID.
 *
 * @throws BackupError `refused` that lists the directories by cluster
 */
function sameFounding(candidates: readonly RecoveryCandidate[]): void {
  const directories = new Map<string, string[]>()
  for (const { clusterId, directory } of candidates) {
    if (clusterId !== null) directories.set(clusterId, [...(directories.get(clusterId) ?? []), directory])
  }
  if (directories.size <= 1) return
  const groups = [...directories].map(([id, paths]) => `${paths.join(' and ')} of cluster ${id}`)
  throw new BackupError(
    'refused',
    `the directories belong to separately founded clusters: ${groups.join('; ')}; give those of one`,
  )
}

function sameCluster(candidates: readonly RecoveryCandidate[]): void {
  const [first, ...rest] = candidates
  for (const other of rest) {
    const [a, b] = [first?.identity, other.identity]
    if (a?.cluster !== b.cluster || a.life !== b.life) {
      throw new BackupError(
        'refused',
        `${first?.directory ?? ''} and ${other.directory} belong to different clusters, or incarnations of one: give those of one`,
      )
    }
    if (a.member === b.member) {
      const both = `${first?.directory ?? ''} and ${other.directory} are both member ${b.member}`
      throw new BackupError('refused', `${both}: give the one that ran last`)
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
 * Returns the last index up to which two logs are equal: the highest one with the same term in
 * both, or, where one log was compacted beyond it, the lower committed index.
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

/** @param index at least the base index */
function termAt({ baseIndex, baseTerm, termRuns }: CandidateLog, index: number): number {
  const run = index === baseIndex ? undefined : termRuns.findLast(({ first }) => first <= index)
  return run?.term ?? baseTerm
}
