import { noIndex } from '../../raft/index.ts'
import type { Configuration, LogIndex, NodeId } from '../../raft/index.ts'
import type { DigestReport, DigestSample } from './member-report.ts'

/**
 * The states of all members as known to one member: its own digests, and those that the others
 * reported.
 */
export type StateEvidence = {
  readonly self: NodeId
  readonly configuration: Configuration
  readonly own: readonly DigestSample[]
  readonly others: ReadonlyMap<NodeId, DigestReport>
}

/**
 * - `agree`: no member is known to have another state
 * - `majority`: a majority of the voters had this state, there or later, or `members` report that
 *   they are outvoted; `members` have another state
 * - `outvoted`: a majority of the voters has one other state
 * - `undecided`: `members` have another state, and no majority is known to have one
 */
export type StateVerdict = {
  /**
   * The newest index at which a majority of the voters, counting this member, had this state; null:
   * none is known.
   */
  readonly agreedUpTo: LogIndex | null
} & ({ readonly kind: 'agree' } | ({ readonly kind: 'majority' | 'outvoted' | 'undecided' } & Difference))

type Difference = {
  readonly index: LogIndex
  /** Digest of this member at that index. */
  readonly digest: string
  /** Those that have another one there, ascending. */
  readonly members: readonly NodeId[]
}

/**
 * Compares states at equal indexes and under equal feature levels; other digests prove nothing. Two
 * members are compared at the newest index that both reported: an earlier difference has left the
 * state since, for example with history that was trimmed. A majority with this state settles every
 * difference up to its index. A member that a majority has contradicted already decides nothing
 * against this one. Pure.
 */
export function judgeState({ self, configuration, own, others }: StateEvidence): StateVerdict {
  const differing = new Map<NodeId, LogIndex>()
  for (const [id, { samples }] of others) {
    const compared = digestsCompared(own, samples)
    if (compared?.differs === true) differing.set(id, compared.index)
  }
  let agreedUpTo: LogIndex | null = null
  let found: Extract<StateVerdict, Difference> | null = null
  for (const sample of own.toSorted((a, b) => b.index - a.index)) {
    const { index, digest } = sample
    const { ours, theirs } = comparedAt(sample, others)
    if (isMajority([self, ...ours], configuration)) agreedUpTo ??= index
    const members = [...theirs.values()].flat().toSorted((a, b) => a - b)
    if (members.length === 0) continue
    const differ = (id: NodeId): boolean => differing.has(id)
    const isOutvoted = [...theirs.values()].some((ids) => isMajority(ids.filter(differ), configuration))
    if (agreedUpTo === null && isOutvoted) return { kind: 'outvoted', agreedUpTo, index, digest, members }
    const newest = members.filter((id) => differing.get(id) === index)
    if (newest.length === 0 || found?.kind === 'undecided') continue
    const isDecided = agreedUpTo !== null || newest.every((id) => others.get(id)?.state === 'outvoted')
    found ??= { kind: 'majority', agreedUpTo, index, digest, members: newest }
    if (!isDecided) found = { kind: 'undecided', agreedUpTo, index, digest, members: newest }
  }
  return found === null ? { kind: 'agree', agreedUpTo } : { ...found, agreedUpTo }
}

/**
 * Returns the newest index at which both have a digest, and whether they differ there; null
 * without such an index.
 */
export function digestsCompared(
  own: readonly DigestSample[],
  theirs: readonly DigestSample[],
): { readonly index: LogIndex; readonly differs: boolean } | null {
  let newest = noIndex
  let differs = false
  for (const sample of own) {
    const other = theirs.find((one) => isComparable(one, sample))
    if (other === undefined || sample.index < newest) continue
    // Two levels may be compared at one index.
    differs = other.digest !== sample.digest || (differs && sample.index === newest)
    newest = sample.index
  }
  return newest === noIndex ? null : { index: newest, differs }
}

function comparedAt(
  sample: DigestSample,
  others: ReadonlyMap<NodeId, DigestReport>,
): { readonly ours: readonly NodeId[]; readonly theirs: ReadonlyMap<string, readonly NodeId[]> } {
  const ours: NodeId[] = []
  const theirs = new Map<string, NodeId[]>()
  for (const [id, { samples }] of others) {
    const found = samples.find((other) => isComparable(other, sample))
    if (found === undefined) continue
    if (found.digest === sample.digest) ours.push(id)
    else theirs.set(found.digest, [...(theirs.get(found.digest) ?? []), id])
  }
  return { ours, theirs }
}

function isComparable(one: DigestSample, other: DigestSample): boolean {
  return one.index === other.index && one.featureLevel === other.featureLevel
}

/** Whether they are a majority of the voters; of both sets in a joint configuration. */
function isMajority(ids: readonly NodeId[], { voters, votersOutgoing }: Configuration): boolean {
  return [voters, votersOutgoing ?? voters].every(
    (set) => 2 * set.filter((id) => ids.includes(id)).length > set.length,
  )
}
