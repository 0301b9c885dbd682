import type { Logger } from 'pino'
import type { Clock } from '../../base/clock.ts'
import type { Consensus } from '../../raft/index.ts'
import { MemberReporter } from './member-reporter.ts'
import { MemberReports } from './member-reports.ts'
import { StateGuard } from './state-guard.ts'
import type { Outcome } from '../store/command.ts'
import type { StoreLimits } from '../store/store-limits.ts'
import { Scrub } from '../store/scrub.ts'
import type { StoreMachine } from '../store/store-machine.ts'
import { programVersion } from '../version.ts'

export type StateWatch = {
  readonly guard: StateGuard
  /** The reports of the other members. */
  readonly reports: MemberReports
  readonly scrub: Scrub
  readonly close: () => Promise<void>
}

/**
 * Starts the exchange and comparison of states between members, and the scrub of this member's
 * database.
 */
export function watchState(dependencies: {
  readonly machine: StoreMachine
  readonly consensus: Consensus<Outcome>
  readonly clock: Clock
  readonly log: Logger
  readonly limits: StoreLimits
  /** The newest feature level that this member supports. */
  readonly featureLevelMax: number
  /** How long an operator's decision holds, see `StateGuard`; unset: its default. */
  readonly operatorTrustMs?: number
}): StateWatch {
  const { machine, consensus, clock, log, limits, featureLevelMax, operatorTrustMs: trustMs } = dependencies
  const reports = new MemberReports({
    consensus,
    clock,
    onUnreadable: (from, cause) => log.warn({ from, cause }, 'the report of a member cannot be read'),
  })
  const guard = new StateGuard({
    ...{ state: machine, consensus, reports, clock, log },
    ...(trustMs === undefined ? {} : { trustMs }),
  })
  const reporter = new MemberReporter({
    consensus,
    clock,
    describe: () => ({ ...guard.describe(), featureLevelMax, version: programVersion }),
    differs: () => guard.verdict.kind !== 'agree',
  })
  const scrub = new Scrub({
    ...{ machine, clock, limits },
    onDone: (report) => log.info(report, 'scrub finished: the database is as it was written'),
    onRefused: (cause) => log.warn({ err: cause }, 'scrub failed: the database could not be read'),
  })
  guard.start()
  reporter.start()
  scrub.start()
  return {
    guard,
    reports,
    scrub,
    close: async () => {
      await scrub.close()
      reporter.close()
      guard.close()
      reports.close()
    },
  }
}
