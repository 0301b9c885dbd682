import { checkBounds } from './checks/bounds.ts'
import { checkLists } from './checks/lists.ts'
import { checkMembers } from './checks/members.ts'
import { checkModes } from './checks/modes.ts'
import { checkObjects } from './checks/objects.ts'
import { checkRealTime } from './checks/real-time.ts'
import { checkSessions } from './checks/sessions.ts'
import { checkVersions } from './checks/versions.ts'
import { checkWatches } from './checks/watches.ts'
import { HistoryIndex } from './history-index.ts'
import type { CheckReport } from './finding.ts'
import type { History } from './history.ts'

/** The outcome of all checks. `undecided` includes a history that is too short to check. */
export type HistoryVerdict = {
  readonly verdict: 'ok' | 'anomaly' | 'undecided'
  readonly checks: readonly CheckReport[]
}

export type CheckOptions = {
  /** True if an endpoint may be a load balancer, so that connections are not sessions. */
  readonly balanced: boolean
}

/** Runs all checks on a complete history. Pure: the same history gives the same verdict. */
export function checkHistory(history: History, options: CheckOptions): HistoryVerdict {
  const index = new HistoryIndex(history)
  const checks = [
    checkObjects(index),
    checkRealTime(index),
    checkVersions(index),
    checkLists(index),
    checkModes(index),
    checkBounds(index),
    checkWatches(index),
    checkSessions(index, options),
    checkMembers(history),
  ]
  const isAnomalous = checks.some(({ verdict }) => verdict === 'anomaly')
  const isOpen = checks.some(({ verdict }) => verdict === 'undecided' || verdict === 'no-data')
  return { verdict: isAnomalous ? 'anomaly' : isOpen ? 'undecided' : 'ok', checks }
}
