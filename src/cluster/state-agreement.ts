import { logIndex, noIndex } from '../../raft/index.ts'
import type { Configuration, LogIndex, NodeId } from '../../raft/index.ts'
import type { CopiedStretch, DigestSample } from './member-report.ts'
import { areAllVoters, isMajority, isMajorityOfWitnesses, witness } from './witnesses.ts'

/** The state of one member, as it tells of it. */
export type Testimony = {
  readonly samples: readonly DigestSample[]
  /** See `MemberReport.copied`. */
  readonly copied: readonly CopiedStretch[]
}

/** What one member knows of everybody's state: its own, and those the others reported. */
export type StateEvidence = {
  readonly self: NodeId
  readonly configuration: Configuration
  readonly own: Testimony
  readonly others: ReadonlyMap<NodeId, Testimony>
}

/**
 * - `agree`: nobody who could be compared has another state
 * - `minority`: a majority of witnesses has another state, and it is equal: this member's is wrong
 * - `majority`: a majority of witnesses has this state, there or later, and `members` have another: theirs is wrong
 * - `split`: states differ and no majority of witnesses has one: nobody can tell which is right, so nobody heals
 */
export type StateVerdict =
  | ({ readonly kind: 'agree' } & Agreement)
  | ({ readonly kind: 'majority' } & Agreement & Difference)
  | ({ readonly kind: 'minority' } & Difference)
  | ({ readonly kind: 'split' } & Difference)

type Agreement = {
  /** The newest index at which a majority of the voters is known to have this state, copies or not; null: none yet. */
  readonly upTo: LogIndex | null
  /**
   * The newest one at which this state is proven: a majority of witnesses had it, or every voter, and then there is
   * none that another could be. null: none yet.
   */
  readonly provenUpTo: LogIndex | null
}

type Difference = {
  readonly index: LogIndex
  /** Here, at that index. */
  readonly digest: string
  /** Who has another one there, ascending. */
  readonly members: readonly NodeId[]
}

/**
 * Compares states at equal indexes and under equal levels of apply logic; what cannot be compared says nothing. Entries
 * before an index are the same everywhere, so a difference there is one of applying or of storing: a single one is enough,
 * until the two are known to be equal behind it. Then what was wrong is gone from the state, as when the history that
 * held it was trimmed, and nothing is left to heal. So whether two members differ is told by the newest index at which
 * both have a sample. Members that differ there condemn this one wherever they make a majority, at any index. Whoever stays behind there is
 * answered by a third member that had the same state, applied on, and is equal to this one since. Pure.
 *
 * A copy is no witness for what it was copied from: a member that went wrong unseen, and another that lagged and took its
 * state, would outvote the one that is right. So members report whose doing their state is, and those that have a stretch
 * of the log in common count as one witness (`isMajorityOfWitnesses`). Common ancestry is of account
 *
 * - until the state is proven behind it (`provenUpTo`): every member forgets then whom it copied up to there. In ordinary
 *   life that takes a second or two after a copy, since the copy and a third member are witnesses enough. A cluster that
 *   was built by copies of one member has it proven as soon as all are there and equal;
 * - and only for what came after copy and judge last had equal states, or after the judge itself was copied from the same
 *   member: a later difference was not made before.
 *
 * What stays undecided is a copy of a member that was not confirmed since another fell silent, when that other comes back
 * and differs: `split`, and a person has to say which is right.
 */
export function judgeState(evidence: StateEvidence): StateVerdict {
  let upTo: LogIndex | null = null
  let provenUpTo: LogIndex | null = null
  let worst: Found | null = null
  const differing = differingNow(evidence)
  for (const sample of evidence.own.samples.toSorted((a, b) => b.index - a.index)) {
    const { held, proven, difference } = compareAt(sample, evidence, differing)
    if (held) upTo ??= sample.index
    if (proven) provenUpTo ??= sample.index
    if (difference === null) continue
    // An older difference adds to what a majority says against this member, and else nothing: who was not compared there
    // may have been since.
    const isNewest = difference.members.some((id) => differing.get(id) === sample.index)
    if (difference.kind !== 'minority' && !isNewest) continue
    // Proven later, so right, whoever could not be asked here: one that stays behind for ever is never compared there.
    const isRight = difference.kind === 'split' && provenUpTo !== null
    const found = isRight ? { ...difference, kind: 'majority' as const } : difference
    if (worst === null || severity[found.kind] > severity[worst.kind]) worst = found
  }
  if (worst === null) return { kind: 'agree', upTo, provenUpTo }
  const { kind, ...difference } = worst
  return kind === 'majority' ? { kind, upTo, provenUpTo, ...difference } : { kind, ...difference }
}

type Found = { readonly kind: 'minority' | 'majority' | 'split' } & Difference

/** A member that is certainly wrong acts; one that cannot tell says so; one that is right only notes it. */
const severity = { majority: 1, split: 2, minority: 3 } as const

type Compared = {
  /** A majority of the voters has this state. */
  readonly held: boolean
  readonly proven: boolean
  readonly difference: Found | null
}

/** Where this member and each other were compared last, of those that had another state there. */
function differingNow({ own, others }: StateEvidence): ReadonlyMap<NodeId, LogIndex> {
  const differing = new Map<NodeId, LogIndex>()
  for (const [id, { samples }] of others) {
    const compared = comparedLast(own.samples, samples)
    if (compared?.differs === true && !isGone(id, compared.index, { own, others }))
      differing.set(id, compared.index)
  }
  return differing
}

/** Another member had the state of `id` at that index, applied on by itself, and has been equal to this one since: so will `id`. */
function isGone(
  id: NodeId,
  index: LogIndex,
  { own, others }: Pick<StateEvidence, 'own' | 'others'>,
): boolean {
  const theirs = others.get(id)?.samples.filter((sample) => sample.index === index) ?? []
  for (const [other, { samples, copied }] of others) {
    if (other === id || copied.some(({ upTo }) => upTo > index)) continue
    if (!samples.some((sample) => theirs.some((one) => isEqual(one, sample)))) continue
    const compared = comparedLast(own.samples, samples)
    if (compared !== null && !compared.differs && compared.index > index) return true
  }
  return false
}

/** The newest index at which both have a sample that can be compared, and whether they differ there; null: none. */
export function comparedLast(
  own: readonly DigestSample[],
  samples: readonly DigestSample[],
): { readonly index: LogIndex; readonly differs: boolean } | null {
  let newest = noIndex
  let differs = false
  for (const sample of own) {
    const other = samples.find((one) => isComparable(one, sample))
    if (other === undefined || sample.index < newest) continue
    // Two levels may be compared at one index.
    differs = other.digest !== sample.digest || (differs && sample.index === newest)
    newest = sample.index
  }
  return newest === noIndex ? null : { index: newest, differs }
}

function compareAt(
  sample: DigestSample,
  evidence: StateEvidence,
  differing: ReadonlyMap<NodeId, LogIndex>,
): Compared {
  const { self, configuration, own, others } = evidence
  const { index, digest } = sample
  const ours: NodeId[] = [self]
  const theirs = new Map<string, NodeId[]>()
  for (const [id, { samples }] of others) {
    const found = samples.find((other) => isComparable(other, sample))
    if (found === undefined) continue
    if (found.digest === digest) ours.push(id)
    else if (differing.has(id)) theirs.set(found.digest, [...(theirs.get(found.digest) ?? []), id])
  }
  const copiedBy = (id: NodeId): readonly CopiedStretch[] =>
    id === self ? own.copied : (others.get(id)?.copied ?? [])
  const isOurs = isMajorityOfWitnesses(
    ours.map((id) => witness(id, copiedBy(id), index)),
    configuration,
  )
  const held = isOurs || (theirs.size === 0 && isMajority(ours, configuration))
  if (theirs.size === 0) {
    return { held, proven: isOurs || areAllVoters(ours, configuration), difference: null }
  }
  const equalTo = (id: NodeId): LogIndex => equalUpTo(own.samples, others.get(id)?.samples ?? [], index)
  const isTheirs = [...theirs.values()].some((ids) => {
    const witnesses = ids.map((id) =>
      witness(id, copiedBy(id), index, [{ equalUpTo: equalTo(id), copied: own.copied }]),
    )
    return isMajorityOfWitnesses(witnesses, configuration)
  })
  const members = [...theirs.values()].flat().toSorted((a, b) => a - b)
  const accused = members.map((id) => ({ equalUpTo: equalTo(id), copied: copiedBy(id) }))
  const against = ours.map((id) => witness(id, copiedBy(id), index, accused))
  const isRight = isOurs || isMajorityOfWitnesses(against, configuration)
  const kind = isRight ? 'majority' : isTheirs ? 'minority' : 'split'
  return { held, proven: isOurs, difference: { kind, index, digest, members } }
}

function isComparable(one: DigestSample, other: DigestSample): boolean {
  return one.index === other.index && one.featureLevel === other.featureLevel
}

function isEqual(one: DigestSample, other: DigestSample): boolean {
  return isComparable(one, other) && one.digest === other.digest
}

/** The newest index before `index` at which both had the same state. */
function equalUpTo(own: readonly DigestSample[], theirs: readonly DigestSample[], index: LogIndex): LogIndex {
  let newest = noIndex
  for (const sample of own) {
    if (sample.index >= index || sample.index <= newest) continue
    if (theirs.some((other) => isEqual(other, sample))) newest = sample.index
  }
  return newest
}

/**
 * Whether a majority of witnesses has this member's state at `index` or later, against a member that has none any more
 * and had another one there.
 *
 * @param theirs the last word of that member
 */
export function isConfirmedAgainst(
  theirs: Testimony,
  index: LogIndex,
  { self, configuration, own, others }: StateEvidence,
): boolean {
  const accused = [{ equalUpTo: equalUpTo(own.samples, theirs.samples, index), copied: theirs.copied }]
  return own.samples.some((sample) => {
    if (sample.index < index) return false
    const witnesses = [witness(self, own.copied, sample.index, accused)]
    for (const [id, { samples, copied }] of others) {
      if (samples.some((one) => isEqual(one, sample)))
        witnesses.push(witness(id, copied, sample.index, accused))
    }
    return isMajorityOfWitnesses(witnesses, configuration)
  })
}

/**
 * Whether a state may take the place of another member's. A wrong one that nobody has noticed yet would make a majority
 * of the two: so it is given only while no healthy member is known to have another, and in a repair only once it is
 * proven. Where the healthy ones in touch cannot prove it, being copies, it is enough that a majority of the voters is
 * known to have it: else two of three could not mend a third whose disk rots, which is evidence by itself. Where they
 * are too few even for that, nobody could ever say so.
 *
 * @param atLeast the index from which on a repair asked for it; null: the receiver only lags
 * @param healthy voters in touch that trust their own state, this member included, and whom they copied theirs from
 */
export function mayGive(
  verdict: StateVerdict,
  asked: {
    readonly atLeast: LogIndex | null
    readonly configuration: Configuration
    readonly healthy: ReadonlyMap<NodeId, readonly CopiedStretch[]>
  },
): boolean {
  if (verdict.kind === 'minority' || verdict.kind === 'split') return false
  const { atLeast, configuration, healthy } = asked
  if (atLeast === null) return true
  const isKnown = (upTo: LogIndex | null): boolean => upTo !== null && upTo >= atLeast
  const ids = [...healthy.keys()]
  if (isKnown(verdict.provenUpTo)) return true
  // Where they were compared last: copies made behind `atLeast` have nothing in common there, and yet prove nothing.
  const comparedAt = logIndex(Math.max(atLeast, verdict.upTo ?? noIndex))
  const witnesses = ids.map((id) => witness(id, healthy.get(id) ?? [], comparedAt))
  if (isMajorityOfWitnesses(witnesses, configuration)) return false
  return !isMajority(ids, configuration) || isKnown(verdict.upTo)
}
