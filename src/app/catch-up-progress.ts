import type { Logger } from 'pino'
import type { Clock } from '../../raft/base/clock.ts'
import type { Consensus } from '../../raft/index.ts'
import type { MemberReports } from '../cluster/member-reports.ts'

export type CatchUpParts = {
  readonly consensus: Pick<Consensus<never>, 'status'>
  /** How far the others say that they are. */
  readonly reports: Pick<MemberReports, 'latest'>
  readonly clock: Clock
  readonly log: Pick<Logger, 'info'>
}

const periodMs = 1000
const reportAgeMsMax = 5000

/**
 * Tells in the log of a member that joined how far it has come, until it votes or, pinned as a learner, is where the
 * others are. @returns ends it
 */
export function tellCatchUp({ consensus, reports, clock, log }: CatchUpParts): () => void {
  let told = ''
  const look = (): void => {
    const { configuration, appliedMemory, id } = consensus.status
    const self = configuration.members.find((member) => member.id === id)
    if (self === undefined) return tell({}, 'catching up: the state of another member is on its way')
    const others = [...reports.latest(reportAgeMsMax).values()].map(({ appliedIndex }) => appliedIndex)
    const known = Math.max(appliedMemory, ...others)
    const [entries, of] = [appliedMemory, known]
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
