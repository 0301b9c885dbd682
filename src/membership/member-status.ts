import type { Configuration, FollowerStatus, MemberInfo, NodeId, Term } from '../../raft/index.ts'
import type { MemberReport, ReportedState } from '../state-agreement/member-report.ts'

/** How a member is doing, as the leader sees it: what a `Member` object tells beyond the configuration. */
export type MemberStatus = {
  readonly leader: boolean
  /** Heard of within an election timeout, or that has not passed since this member leads. */
  readonly inTouch: boolean
  /** The last term in which it was heard of; null: not in this one yet. */
  readonly term: Term | null
  /** Committed entries it does not have, or at least so many; 0 while they are only under way. null: not known yet. */
  readonly lag: number | null
  /** null: it is not known yet, so what was known before holds. */
  readonly judgement: Judgement | null
  /** null: it has not said. */
  readonly version: string | null
}

export type Judgement = {
  readonly phase: 'Joining' | 'Ready' | 'NotReady' | 'Removing'
  readonly reason: 'InTouch' | 'Silent' | 'Quarantined' | 'CatchingUp' | 'Lagging' | 'Leaving'
  /** One line for people. */
  readonly message: string
}

/** What a leader knows. */
export type Leadership = {
  readonly id: NodeId
  readonly term: Term
  readonly commit: number
  /** What was committed when it took office: a member it never heard of lacks all that came since. */
  readonly commitAtStart: number
  readonly configuration: Configuration
  readonly followers: readonly FollowerStatus[]
  /** Of others, no older than a few seconds. */
  readonly reports: ReadonlyMap<NodeId, Pick<MemberReport, 'state' | 'version'>>
  readonly self: Pick<MemberReport, 'state' | 'version'>
}

/** Entries under way at any moment under load; fewer are no lag that anybody needs to see. */
const lagShownMin = 200
const quarantineMessage = {
  quarantined: 'it has no trusted state: it fetches another one and serves nothing',
  outvoted: 'a majority has another state: it serves nothing until an operator repairs it',
  undecided: 'other members have another state: it serves nothing until an operator decides which is right',
} as const satisfies Record<Exclude<ReportedState, 'healthy'>, string>

/** As many entries a member's memory may be behind before it calls itself unready. */
const lagReadyMax = 5000

/** The status of each member, by the leader of `leadership`. */
export function memberStatuses(leadership: Leadership): ReadonlyMap<NodeId, MemberStatus> {
  return new Map(leadership.configuration.members.map((member) => [member.id, statusOf(member, leadership)]))
}

/**
 * The lag to show where `before` is shown. That of a silent member only grows, and by some hundred entries at a time:
 * each time it is written down is an entry more that it lacks.
 */
export function lagToShow(before: number, { inTouch, lag }: Pick<MemberStatus, 'inTouch' | 'lag'>): number {
  if (lag === null) return before
  if (inTouch) return lag
  return before > 0 && lag < before + lagShownMin ? before : lag
}

function statusOf(member: MemberInfo, leadership: Leadership): MemberStatus {
  const leader = member.id === leadership.id
  const follower = leadership.followers.find(({ id }) => id === member.id)
  const report = leader ? leadership.self : leadership.reports.get(member.id)
  // A follower of which this leadership has heard nothing yet is given the time to answer.
  const inTouch = leader || follower?.recentlyActive === true
  const match = matchOf(follower)
  const behind = leader ? 0 : Math.max(0, leadership.commit - (match ?? leadership.commitAtStart))
  const heard = leader || match !== null
  return {
    leader,
    inTouch,
    term: inTouch && heard ? leadership.term : null,
    lag: lagOf({ behind, inTouch, heard }),
    judgement: judged(member, leadership.configuration, { behind, inTouch, heard, report }),
    version: report?.version ?? null,
  }
}

/** null: this leadership has not heard of it. Who is sent a state has asked for entries that are gone. */
function matchOf(follower: FollowerStatus | undefined): number | null {
  if (follower === undefined) return null
  return follower.match > 0 || follower.state === 'snapshot' ? follower.match : null
}

type MemberView = {
  readonly behind: number
  readonly inTouch: boolean
  /** In this leadership, at any time. */
  readonly heard: boolean
}

function lagOf({ behind, inTouch, heard }: MemberView): number | null {
  if (!inTouch) return behind
  if (!heard) return null
  return behind < lagShownMin ? 0 : behind
}

/** The first that applies counts. */
function judged(
  { id, role, wantedRole }: MemberInfo,
  { voters, votersOutgoing, learnersNext }: Configuration,
  {
    behind,
    inTouch,
    heard,
    report,
  }: MemberView & { readonly report: Pick<MemberReport, 'state'> | undefined },
): Judgement | null {
  if (votersOutgoing?.includes(id) === true && !voters.includes(id) && !learnersNext.includes(id)) {
    return { phase: 'Removing', reason: 'Leaving', message: 'it is about to leave the cluster' }
  }
  const notReady = role === wantedRole ? 'NotReady' : 'Joining'
  if (!inTouch) {
    return { phase: notReady, reason: 'Silent', message: 'the leader has not heard of it lately' }
  }
  if (report !== undefined && report.state !== 'healthy') {
    return { phase: notReady, reason: 'Quarantined', message: quarantineMessage[report.state] }
  }
  if (role !== wantedRole) {
    return { phase: 'Joining', reason: 'CatchingUp', message: 'it votes once it has caught up' }
  }
  if (!heard) return null
  if (behind > lagReadyMax) {
    return { phase: 'NotReady', reason: 'Lagging', message: 'it is catching up with the log' }
  }
  return { phase: 'Ready', reason: 'InTouch', message: 'it is in touch with the leader and has caught up' }
}
