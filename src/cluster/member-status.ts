import type { Configuration, FollowerStatus, MemberInfo, NodeId, Term } from '../../raft/index.ts'
import type { MemberReport } from './member-report.ts'

/** How a member is doing, as the leader sees it: what a `Member` object tells beyond the configuration. */
export type MemberStatus = {
  readonly phase: 'Joining' | 'Ready' | 'NotReady' | 'Removing'
  readonly leader: boolean
  /** The last term in which it was heard of; null: not in this one yet. */
  readonly term: Term | null
  /** Committed entries it does not have; 0 while they are only under way. */
  readonly lag: number
  readonly ready: boolean
  /** null: it has not said. */
  readonly version: string | null
  readonly reason: 'InTouch' | 'Silent' | 'Quarantined' | 'CatchingUp' | 'Lagging' | 'Leaving'
  /** One line for people. */
  readonly message: string
}

/** What a leader knows. */
export type Reign = {
  readonly id: NodeId
  readonly term: Term
  readonly commit: number
  readonly configuration: Configuration
  readonly followers: readonly FollowerStatus[]
  /** Of others, no older than a few seconds. */
  readonly reports: ReadonlyMap<NodeId, Pick<MemberReport, 'state' | 'version'>>
  readonly self: Pick<MemberReport, 'state' | 'version'>
}

/** Entries under way at any moment under load; fewer are no lag that anybody needs to see. */
const lagShownMin = 200
/** As many entries a member's memory may be behind before it calls itself unready. */
const lagReadyMax = 5000

/** The status of each member, by the leader of `reign`. */
export function memberStatuses(reign: Reign): ReadonlyMap<NodeId, MemberStatus> {
  return new Map(reign.configuration.members.map((member) => [member.id, statusOf(member, reign)]))
}

function statusOf(member: MemberInfo, reign: Reign): MemberStatus {
  const leader = member.id === reign.id
  const follower = reign.followers.find(({ id }) => id === member.id)
  const report = leader ? reign.self : reign.reports.get(member.id)
  const behind = leader ? 0 : Math.max(0, reign.commit - (follower?.match ?? 0))
  // A follower of which this reign has heard nothing yet is given the time to answer.
  const inTouch = leader || follower?.recentlyActive === true
  const heard = leader || (inTouch && (follower?.match ?? 0) > 0)
  const doing = judged(member, reign.configuration, { behind: heard ? behind : 0, inTouch, report })
  return {
    ...doing,
    ready: doing.phase === 'Ready',
    leader,
    term: heard ? reign.term : null,
    lag: behind < lagShownMin || !heard ? 0 : behind,
    version: report?.version ?? null,
  }
}

type Sight = {
  readonly behind: number
  readonly inTouch: boolean
  readonly report: Pick<MemberReport, 'state'> | undefined
}

/** The first that applies counts. */
function judged(
  { id, role, wantedRole }: MemberInfo,
  { voters, votersOutgoing, learnersNext }: Configuration,
  { behind, inTouch, report }: Sight,
): Pick<MemberStatus, 'phase' | 'reason' | 'message'> {
  if (votersOutgoing?.includes(id) === true && !voters.includes(id) && !learnersNext.includes(id)) {
    return { phase: 'Removing', reason: 'Leaving', message: 'it is about to leave the cluster' }
  }
  const notReady = role === wantedRole ? 'NotReady' : 'Joining'
  if (!inTouch) {
    return { phase: notReady, reason: 'Silent', message: 'the leader has not heard of it lately' }
  }
  if (report?.state === 'quarantined') {
    const message = 'its state is not to be trusted: it fetches another one and serves nothing'
    return { phase: notReady, reason: 'Quarantined', message }
  }
  if (role !== wantedRole) {
    return { phase: 'Joining', reason: 'CatchingUp', message: 'it votes once it has caught up' }
  }
  if (behind > lagReadyMax) {
    return { phase: 'NotReady', reason: 'Lagging', message: 'it is catching up with the log' }
  }
  return { phase: 'Ready', reason: 'InTouch', message: 'it is in touch with the leader and has caught up' }
}
