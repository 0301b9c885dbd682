import type { Clock, Timer } from '../../base/clock.ts'
import type { Consensus } from '../../raft/index.ts'
import { encodeReport } from './member-report.ts'
import type { MemberReport } from './member-report.ts'

export type MemberReporterParts = {
  readonly consensus: Pick<Consensus<never>, 'report'>
  readonly clock: Clock
  /** What is true of this member now. */
  readonly describe: () => MemberReport
}

const periodMs = 1000

/** Tells the other members about this one, once a second. A report that is lost is made up for by the next. */
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
