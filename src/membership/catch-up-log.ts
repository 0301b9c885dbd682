import type { Logger } from 'pino'
import type { Clock } from '../../base/clock.ts'
import type { Consensus, MemberInfo, MemberList } from '../../raft/index.ts'
import type { MemberReports } from '../state-agreement/member-reports.ts'

export type CatchUpLogDependencies = {
  readonly consensus: Pick<Consensus<never>, 'status'>
  /** The progress that the other members report. */
  readonly reports: Pick<MemberReports, 'latest'>
  readonly clock: Clock
  readonly log: Pick<Logger, 'info' | 'warn'>
  readonly name: string
  /** The members at the time of joining. */
  readonly joined: MemberList
}

const periodMs = 1000
const reportAgeMsMax = 5000
/**
 * Interval at which a member that knows no leader logs this, and the delay before the first time.
 */
const unansweredMs = 30_000

/**
 * Logs the progress of a member that joined, until it votes or, as a pinned learner, is up to date;
 * and a warning every `unansweredMs` without a leader. Logs no progress of a voter that was only
 * restarted.
 * @returns a function that stops it
 */
export function logCatchUp(dependencies: CatchUpLogDependencies): () => void {
  const { consensus, reports, clock, log } = dependencies
  // Whether there is a state from an earlier start. A member with one that votes at the first check
  // has logged this before.
  const isBack = consensus.status.appliedMemory > 0
  let reported = ''
  let contactMs = clock.monotonicMs()
  const look = (): void => {
    const nowMs = clock.monotonicMs()
    if (consensus.status.leader !== null) contactMs = nowMs
    else if (nowMs - contactMs >= unansweredMs) {
      contactMs = nowMs
      log.warn({ members: addressesOf(dependencies) }, unansweredMessage(dependencies))
    }
    const { configuration, appliedMemory, id } = consensus.status
    const self = configuration.members.find((member) => member.id === id)
    if (self === undefined) return logChange({}, 'catching up: the state of another member is on its way')
    const others = [...reports.latest(reportAgeMsMax).values()].map(({ appliedIndex }) => appliedIndex)
    const known = Math.max(appliedMemory, ...others)
    const [entries, of] = [appliedMemory, known]
    if (self.role === 'voter' && isBack && reported === '') return timer.cancel()
    if (self.role === 'voter') return done({ entries }, 'caught up: this member votes from now on')
    if (self.wantedRole === 'voter')
      return logChange({ entries, of }, 'catching up: a learner that votes afterwards')
    if (others.length > 0 && entries >= of)
      return done({ entries }, 'caught up: this member is a learner until it is promoted')
    logChange({ entries, of }, 'catching up: a learner until it is promoted')
  }
  const logChange = (fields: object, words: string): void => {
    const line = words + JSON.stringify(fields)
    if (line !== reported) log.info(fields, words)
    reported = line
  }
  const done = (fields: object, words: string): void => {
    timer.cancel()
    logChange(fields, words)
  }
  const timer = clock.every(periodMs, look)
  return () => timer.cancel()
}

/**
 * Returns the members that this one dials: from its log, or from its join answer while the log is
 * empty.
 */
function peersOf({ consensus, joined }: CatchUpLogDependencies): readonly MemberInfo[] {
  const { configuration, id } = consensus.status
  const known = configuration.members.length > 0 ? configuration.members : joined.members
  return known.filter((member) => member.id !== id)
}

function addressesOf(dependencies: CatchUpLogDependencies): readonly string[] {
  return peersOf(dependencies).map(({ name, peerAddress }) => `${name}=${peerAddress}`)
}

function unansweredMessage({ consensus, joined, name }: CatchUpLogDependencies): string {
  const { id } = consensus.status
  const own = joined.members.find((member) => member.id === id)?.peerAddress ?? ''
  return (
    `no leader has been in contact for ${unansweredMs / 1000} s: start these members, or let the members that replaced them ` +
    `reach ${own}; if this member was given up, orchctl member remove ${name} there, and join again with an empty --data-dir`
  )
}
