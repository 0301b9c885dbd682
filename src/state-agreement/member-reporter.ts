import type { Clock, Timer } from '../../base/clock.ts'
import type { Consensus } from '../../raft/index.ts'
import { encodeReport } from './member-report.ts'
import type { MemberReport } from './member-report.ts'

export type MemberReporterDependencies = {
  readonly consensus: Pick<Consensus<never>, 'report'>
  readonly clock: Clock
  /** Returns the current report of this member. */
  readonly describe: () => MemberReport
  /** Whether members differ: then each needs the reports of the others soon. */
  readonly differs: () => boolean
}

const periodMs = 1000
/** A report that has not changed is sent again after this number of periods, if all agree. */
const repeatPeriods = 3

/**
 * Sends a report about this member to the others, once a second, or every third second while it
 * does not change and no member is known to differ. The next report makes up for a lost one.
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
    const { consensus, describe, differs } = this.#dependencies
    const report = encodeReport(describe())
    const isSame = Buffer.compare(report, this.#sent) === 0
    if (isSame && !differs() && ++this.#periodsSince < repeatPeriods) return
    this.#sent = report
    this.#periodsSince = 0
    consensus.report('all', report)
  }
}
