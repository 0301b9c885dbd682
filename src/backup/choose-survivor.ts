import type { Configuration, NodeId } from '../../raft/index.ts'
import { BackupFailure } from './errors.ts'
import type { Survivor, SurvivingLog, UnprovenWrite } from './survivor.ts'

/** A survivor that can be read. */
export type Readable = Survivor & { readonly log: SurvivingLog }

export type Choice = {
  readonly best: Readable
  /** Voters of the best's configuration that are not here, or damaged, by name. */
  readonly lost: readonly string[]
  /** The highest index that anybody here knows to be committed. */
  readonly committed: number
  /** Of the best, above that: nobody here knows whether they were acknowledged. */
  readonly unproven: readonly UnprovenWrite[]
  /** Entries of others that the best does not have: a later leader replaced them, or was about to. */
  readonly dropped: readonly { readonly member: string; readonly from: number; readonly to: number }[]
}

/**
 * From whom the cluster goes on: of those that are whole the one whose last entry has the latest term, then the highest
 * index. That is whom the others would elect; it has every entry that a majority with one of them in it had.
 *
 * @throws BackupFailure `refused`: different clusters, nobody whole, or a majority is here and needs no recovery
 * @source Ongaro and Ousterhout, "In Search of an Understandable Consensus Algorithm", section 5.4.1
 */
export function chooseSurvivor(survivors: readonly Survivor[]): Choice {
  sameCluster(survivors)
  const whole = survivors.filter(isReadable).filter(({ damage }) => damage === null)
  const [best] = whole.toSorted(
    ({ log: a }, { log: b }) =>
      b.lastTerm - a.lastTerm || b.lastIndex - a.lastIndex || b.committed - a.committed,
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
  const lost = votersOf(configuration)
    .filter((id) => !here.includes(id))
    .map((id) => configuration.members.find((member) => member.id === id)?.name ?? String(id))
  const committed = Math.max(...survivors.filter(isReadable).map(({ log }) => log.committed))
  const dropped = whole
    .filter((other) => other !== best)
    .map((other) => ({
      member: other.identity.member,
      from: sharedUpTo(best.log, other.log) + 1,
      to: other.log.lastIndex,
    }))
    .filter(({ from, to }) => from <= to)
  const unproven = best.log.unproven.filter(({ index }) => index > committed)
  return { best, lost, committed, unproven, dropped }
}

function isReadable(survivor: Survivor): survivor is Readable {
  return survivor.log !== null
}

function sameCluster(survivors: readonly Survivor[]): void {
  const [first, ...rest] = survivors
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
}

export function votersOf({ voters, votersOutgoing }: Configuration): readonly NodeId[] {
  return [...new Set([...voters, ...(votersOutgoing ?? [])])]
}

function isMajority({ voters, votersOutgoing }: Configuration, ids: readonly NodeId[]): boolean {
  const of = (set: readonly NodeId[]): boolean => 2 * set.filter((id) => ids.includes(id)).length > set.length
  return of(voters) && (votersOutgoing === null || of(votersOutgoing))
}

/** Up to where two logs are one: an index at which both have the same term. @source as above, section 5.3 */
function sharedUpTo(one: SurvivingLog, other: SurvivingLog): number {
  const lowest = Math.max(one.baseIndex, other.baseIndex)
  for (let at = Math.min(one.lastIndex, other.lastIndex); at > lowest; at--) {
    if (termAt(one, at) === termAt(other, at)) return at
  }
  return lowest
}

function termAt({ termRuns }: SurvivingLog, index: number): number | null {
  return termRuns.findLast(({ first }) => first <= index)?.term ?? null
}
