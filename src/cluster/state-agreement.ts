import type { Configuration, LogIndex, NodeId } from '../../raft/index.ts'
import type { DigestSample } from './member-report.ts'

/** What one member knows of everybody's state: its own samples, and those the others reported. */
export type StateEvidence = {
  readonly self: NodeId
  readonly configuration: Configuration
  readonly own: readonly DigestSample[]
  readonly others: ReadonlyMap<NodeId, readonly DigestSample[]>
}

/**
 * - `agree`: nobody who could be compared has another state. `upTo`: the newest index at which a majority of the voters is
 *   known to have this one; null: none yet
 * - `minority`: a majority has another state, and it is equal: this member's is wrong
 * - `majority`: a majority has this state, at the latest at `upTo`, and `members` have another: theirs is wrong
 * - `split`: states differ and no majority has one: nobody can tell which is right, so nobody heals
 */
export type StateVerdict =
  | { readonly kind: 'agree'; readonly upTo: LogIndex | null }
  | ({ readonly kind: 'majority'; readonly upTo: LogIndex } & Difference)
  | ({ readonly kind: 'minority' } & Difference)
  | ({ readonly kind: 'split' } & Difference)

type Difference = {
  readonly index: LogIndex
  /** Here, at that index. */
  readonly digest: string
  /** Who has another one there, ascending. */
  readonly members: readonly NodeId[]
}

/**
 * Compares states at equal indexes and under equal levels of apply logic; what cannot be compared says nothing. Entries
 * before an index are the same everywhere, so a difference there is one of applying or of storing, and stays: a single one
 * is enough, and the newest counts. Pure.
 */
export function judgeState(evidence: StateEvidence): StateVerdict {
  let agreedUpTo: LogIndex | null = null
  let worst: Found | null = null
  for (const sample of evidence.own.toSorted((a, b) => b.index - a.index)) {
    const found = compareAt(sample, evidence)
    if (found === null) continue
    if (found === 'agreed' || found.kind === 'majority') agreedUpTo ??= sample.index
    if (found !== 'agreed' && (worst === null || severity[found.kind] > severity[worst.kind])) worst = found
  }
  if (worst === null) return { kind: 'agree', upTo: agreedUpTo }
  const { kind, ...difference } = worst
  return kind === 'majority'
    ? { kind, upTo: agreedUpTo ?? worst.index, ...difference }
    : { kind, ...difference }
}

type Found = { readonly kind: 'minority' | 'majority' | 'split' } & Difference

/** A member that is certainly wrong acts; one that cannot tell says so; one that is right only notes it. */
const severity = { majority: 1, split: 2, minority: 3 } as const

/** @returns null: too few are known there to tell anything */
function compareAt(
  { index, featureLevel, digest }: DigestSample,
  { self, configuration, others }: StateEvidence,
): Found | 'agreed' | null {
  const holders = new Map<string, NodeId[]>([[digest, [self]]])
  for (const [id, samples] of others) {
    const theirs = samples.find((sample) => sample.index === index && sample.featureLevel === featureLevel)
    if (theirs === undefined) continue
    const same = holders.get(theirs.digest)
    if (same === undefined) holders.set(theirs.digest, [id])
    else same.push(id)
  }
  const ours = isMajority(holders.get(digest) ?? [], configuration)
  if (holders.size === 1) return ours ? 'agreed' : null
  const members: NodeId[] = []
  let theirs = false
  for (const [other, ids] of holders) {
    if (other === digest) continue
    members.push(...ids)
    if (isMajority(ids, configuration)) theirs = true
  }
  members.sort((a, b) => a - b)
  return { kind: ours ? 'majority' : theirs ? 'minority' : 'split', index, digest, members }
}

/** Of the voters; while the configuration is joint, of both sets. */
function isMajority(ids: readonly NodeId[], { voters, votersOutgoing }: Configuration): boolean {
  const isMajorityOf = (set: readonly NodeId[]): boolean =>
    2 * set.filter((id) => ids.includes(id)).length > set.length
  return isMajorityOf(voters) && (votersOutgoing === null || isMajorityOf(votersOutgoing))
}

/**
 * Whether a state may take the place of another member's. A wrong one that nobody has noticed yet would make a majority
 * of the two: so it is given only while no healthy member is known to have another, and in a repair only once a majority
 * is known to have it. Where too few healthy members are in touch to be a majority, nobody could ever say so.
 *
 * @param atLeast the index from which on a repair asked for it; null: the receiver only lags
 * @param healthy voters in touch that trust their own state, this member included
 */
export function mayGive(
  verdict: StateVerdict,
  asked: {
    readonly atLeast: LogIndex | null
    readonly configuration: Configuration
    readonly healthy: readonly NodeId[]
  },
): boolean {
  if (verdict.kind === 'minority' || verdict.kind === 'split') return false
  const { atLeast, configuration, healthy } = asked
  if (atLeast === null || !isMajority(healthy, configuration)) return true
  return verdict.upTo !== null && verdict.upTo >= atLeast
}
