import type { Logger } from 'pino'
import type { Clock } from '../../base/clock.ts'
import type { Consensus, MemberInfo, MemberList } from '../../raft/index.ts'
import type { MemberReports } from '../state-agreement/member-reports.ts'

export type CatchUpLogParts = {
  readonly consensus: Pick<Consensus<never>, 'status'>
  /** How far the others say that they are. */
  readonly reports: Pick<MemberReports, 'latest'>
  readonly clock: Clock
  readonly log: Pick<Logger, 'info' | 'warn'>
  readonly name: string
  /** What this member was told when it joined. */
  readonly joined: MemberList
}

const periodMs = 1000
const reportAgeMsMax = 5000
/** A member that nobody answers says so this often, the first time after as long. */
const unansweredMs = 30_000

/**
 * Tells in the log of a member that joined how far it has come, until it votes or, pinned as a learner, is where the
 * others are; and now and then that nobody answers, if so. Says nothing of one that votes already. @returns ends it
 */
export function logCatchUp(parts: CatchUpLogParts): () => void {
  const { consensus, reports, clock, log } = parts
  // The state of an earlier start: who has one and votes when first looked at, told so long ago.
  const isBack = consensus.status.appliedMemory > 0
  let told = ''
  let heardMs = clock.monotonicMs()
  const look = (): void => {
    const nowMs = clock.monotonicMs()
    if (consensus.status.leader !== null) heardMs = nowMs
    else if (nowMs - heardMs >= unansweredMs) {
      heardMs = nowMs
      log.warn({ members: addressesOf(parts) }, unansweredMessage(parts))
    }
    const { configuration, appliedMemory, id } = consensus.status
    const self = configuration.members.find((member) => member.id === id)
    if (self === undefined) return tell({}, 'catching up: the state of another member is on its way')
    const others = [...reports.latest(reportAgeMsMax).values()].map(({ appliedIndex }) => appliedIndex)
    const known = Math.max(appliedMemory, ...others)
    const [entries, of] = [appliedMemory, known]
    if (self.role === 'voter' && isBack && told === '') return timer.cancel()
    if (self.role === 'voter') return done({ entries }, 'caught up: this member votes from now on')
    if (self.wantedRole === 'voter') return tell({ entries, of }, 'catching up: a learner that is to vote')
    if (others.length > 0 && entries >= of)
      return done({ entries }, 'caught up: this member is a learner and stays one')
    tell({ entries, of }, 'catching up: a learner that stays one')
  }
  const tell = (fields: object, words: string): void => {
    const line = words + JSON.stringify(fields)
    if (line !== told) log.info(fields, words)
    told = line
  }
  const done = (fields: object, words: string): void => {
    timer.cancel()
    tell(fields, words)
  }
  const timer = clock.every(periodMs, look)
  return () => timer.cancel()
}

/** Whom it dials: by its log, or while that is empty by what it was told. */
function peersOf({ consensus, joined }: CatchUpLogParts): readonly MemberInfo[] {
  const { configuration, id } = consensus.status
  const known = configuration.members.length > 0 ? configuration.members : joined.members
  return known.filter((member) => member.id !== id)
}

function addressesOf(parts: CatchUpLogParts): readonly string[] {
  return peersOf(parts).map(({ name, peerAddress }) => `${name}=${peerAddress}`)
}

function unansweredMessage({ consensus, joined, name }: CatchUpLogParts): string {
  const { id } = consensus.status
  const own = joined.members.find((member) => member.id === id)?.peerAddress ?? ''
  return (
    `no member that this one knows of leads or answers, and none calls: start one of them, or let whoever took their places ` +
    `reach ${own}; if this member shall not be one any more, orchctl member remove ${name} there, and to join anew an empty --data-dir`
  )
}
