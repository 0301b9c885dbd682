import type { Clock, Timer } from '../../base/clock.ts'
import type { Consensus } from '../../raft/index.ts'
import { encodeReport } from './member-report.ts'
import type { MemberReport } from './member-report.ts'

export type MemberReporterParts = {
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
  readonly #parts: MemberReporterParts
  #timer: Timer | null = null

  constructor(parts: MemberReporterParts) {
    this.#parts = parts
  }

  start(): void {
    this.#timer = this.#parts.clock.every(periodMs, () => this.#tell())
    this.#tell()
  }

  close(): void {
    this.#timer?.cancel()
  }

  #tell(): void {
    const { consensus, describe } = this.#parts
    consensus.report('all', encodeReport(describe()))
  }
}
