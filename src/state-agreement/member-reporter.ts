import type { Clock, Timer } from '../../base/clock.ts'
import type { Consensus } from '../../raft/index.ts'
import { encodeReport } from './member-report.ts'
import type { MemberReport } from './member-report.ts'

export type MemberReporterDependencies = {
  readonly consensus: Pick<Consensus<never>, 'report'>
  readonly clock: Clock
  /** Returns the current report of this member. */
  readonly describe: () => MemberReport
}

const periodMs = 1000
/** A report that has not changed is sent again after this number of periods. */
const repeatPeriods = 3

/**
 * Sends a report about this member to the others, once a second, or less often while it does not
 * change. The next report makes up for a lost one.
 */
export class MemberReporter {
  readonly #dependencies: MemberReporterDependencies
  #timer: Timer | null = null
  #sent: Uint8Array = new Uint8Array()
  #periodsSince = 0

  constructor(dependencies: MemberReporterDependencies) {
    this.#dependencies = dependencies
  }

  start(): void {
    this.#timer = this.#dependencies.clock.every(periodMs, () => this.#send())
    this.#send()
  }

  close(): void {
    this.#timer?.cancel()
  }

  #send(): void {
    const { consensus, describe } = this.#dependencies
    const report = encodeReport(describe())
    const isSame = Buffer.compare(report, this.#sent) === 0
    if (isSame && ++this.#periodsSince < repeatPeriods) return
    this.#sent = report
    this.#periodsSince = 0
    consensus.report('all', report)
  }
}
