import type { Configuration, FollowerStatus, MemberInfo, NodeId, Term } from '../../raft/index.ts'
import type { MemberReport, ReportedState } from '../state-agreement/member-report.ts'

/**
 * The status of a member, as the leader sees it: what a `Member` object contains beyond the
 * configuration.
 */
export type MemberStatus = {
  readonly leader: boolean
  /** Whether it responded within an election timeout, or this leader has not led for that long. */
  readonly isResponding: boolean
  /**
   * The term of the leader, if the member has responded in it and still does; null: the earlier one
   * stays.
   */
  readonly term: Term | null
  /**
   * Committed entries that the leader does not know it to have; 0 while they are only in transit.
   * For a member that never responded to this leader a lower bound. null: not known yet.
   */
  readonly lag: number | null
  /** null: not known yet, so the earlier judgement stays. */
  readonly judgement: Judgement | null
  /** null: not reported. */
  readonly version: string | null
}

export type Judgement = {
  readonly phase: 'Joining' | 'Ready' | 'NotReady' | 'Removing'
  readonly reason: 'InTouch' | 'Silent' | 'Quarantined' | 'CatchingUp' | 'Lagging' | 'Leaving'
  /** One line for users. */
  readonly message: string
}

/** The state of the cluster and its members that the leader knows. */
export type Leadership = {
  readonly id: NodeId
  readonly term: Term
  readonly commit: number
  /**
   * The commit index when it became leader: a member that never responded lacks all entries after
   * it.
   */
  readonly commitAtStart: number
  readonly configuration: Configuration
  readonly followers: readonly FollowerStatus[]
  /** Reports of the other members, no older than a few seconds. */
  readonly reports: ReadonlyMap<NodeId, Pick<MemberReport, 'state' | 'version'>>
  readonly self: Pick<MemberReport, 'state' | 'version'>
}

/**
 * Entries in transit at any moment under load. A smaller lag of a member that responds is shown as
 * 0.
 */
const lagShownMin = 200
const quarantineMessage = {
  quarantined: 'its state is quarantined: it fetches another one and serves nothing',
  outvoted: 'a majority has another state: it serves nothing until an operator repairs it',
  undecided: 'other members have another state: it serves nothing until an operator decides which is right',
} as const satisfies Record<Exclude<ReportedState, 'healthy'>, string>

/** The lag in entries above which a member is unready. */
const lagReadyMax = 5000

/** Returns the status of each member, as seen by the leader. */
export function memberStatuses(leadership: Leadership): ReadonlyMap<NodeId, MemberStatus> {
  return new Map(leadership.configuration.members.map((member) => [member.id, statusOf(member, leadership)]))
}

/**
 * Returns the lag to show where `before` is shown. The lag of a silent member only grows, and is
 * updated in steps of some hundred entries: each update is itself an entry that the member lacks.
 */
export function lagToShow(
  before: number,
  { isResponding, lag }: Pick<MemberStatus, 'isResponding' | 'lag'>,
): number {
  if (lag === null) return before
  if (isResponding) return lag
  return before > 0 && lag < before + lagShownMin ? before : lag
}

function statusOf(member: MemberInfo, leadership: Leadership): MemberStatus {
  const leader = member.id === leadership.id
  const follower = leadership.followers.find(({ id }) => id === member.id)
  const report = leader ? leadership.self : leadership.reports.get(member.id)
  // A follower that has not responded in this term yet is given time to.
  const isResponding = leader || follower?.recentlyActive === true
  const match = matchOf(follower)
  const behind = leader ? 0 : Math.max(0, leadership.commit - (match ?? leadership.commitAtStart))
  const hasResponded = leader || match !== null
  return {
    leader,
    isResponding,
    term: isResponding && hasResponded ? leadership.term : null,
    lag: lagOf({ behind, isResponding, hasResponded }),
    judgement: judged(member, leadership.configuration, { behind, isResponding, hasResponded, report }),
    version: report?.version ?? null,
  }
}

/**
 * Returns null if it has not responded in this term. A follower that is sent a snapshot has
 * requested entries that were compacted.
 */
function matchOf(follower: FollowerStatus | undefined): number | null {
  if (follower === undefined) return null
  return follower.match > 0 || follower.state === 'snapshot' ? follower.match : null
}

type MemberView = {
  readonly behind: number
  readonly isResponding: boolean
  /** It responded in this term. */
  readonly hasResponded: boolean
}

function lagOf({ behind, isResponding, hasResponded }: MemberView): number | null {
  if (!isResponding) return behind
  if (!hasResponded) return null
  return behind < lagShownMin ? 0 : behind
}

/** The first matching condition counts. */
function judged(
  { id, role, wantedRole }: MemberInfo,
  { voters, votersOutgoing, learnersNext }: Configuration,
  {
    behind,
    isResponding,
    hasResponded,
    report,
  }: MemberView & { readonly report: Pick<MemberReport, 'state'> | undefined },
): Judgement | null {
  if (votersOutgoing?.includes(id) === true && !voters.includes(id) && !learnersNext.includes(id)) {
    return { phase: 'Removing', reason: 'Leaving', message: 'it is about to leave the cluster' }
  }
  const notReady = role === wantedRole ? 'NotReady' : 'Joining'
  if (!isResponding) {
    return { phase: notReady, reason: 'Silent', message: 'it has not responded to the leader lately' }
  }
  if (report !== undefined && report.state !== 'healthy') {
    return { phase: notReady, reason: 'Quarantined', message: quarantineMessage[report.state] }
  }
  if (role !== wantedRole) {
    return { phase: 'Joining', reason: 'CatchingUp', message: 'it votes once it has caught up' }
  }
  if (!hasResponded) return null
  if (behind > lagReadyMax) {
    return { phase: 'NotReady', reason: 'Lagging', message: 'it is catching up with the log' }
  }
  return { phase: 'Ready', reason: 'InTouch', message: 'it is in touch with the leader and has caught up' }
}
