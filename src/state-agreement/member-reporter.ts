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

/**
 * Sends a report about this member to the others, once a second. The next report makes up for a
 * lost one.
 */
export class MemberReporter {
  readonly #dependencies: MemberReporterDependencies
  #timer: Timer | null = null

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
    consensus.report('all', encodeReport(describe()))
  }
}
