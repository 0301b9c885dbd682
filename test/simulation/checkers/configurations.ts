import type { Configuration } from '../../../raft/index.ts'
import { Finding } from './finding.ts'
import type { ConfigurationEntry, Placed } from './shadow-log.ts'

/**
 * I7: one configuration change at a time, and each step keeps majorities overlapping: one voter
 * more or less, or a joint configuration.
 *
 * @param before the configuration in force in that log before this entry
 * @param isDecided whether `before` is committed
 * @throws Finding
 */
export function checkConfiguration(
  member: number,
  before: Placed,
  entry: ConfigurationEntry,
  isDecided: boolean,
): void {
  if (!isDecided) {
    const what = `${entry.index} follows ${before.index}, which is not committed`
    throw new Finding('I7 one change', `in the log of member ${member}, ${what}`)
  }
  if (!isStep(before.configuration, entry.configuration)) {
    const step = `from ${describe(before.configuration)} to ${describe(entry.configuration)}`
    throw new Finding('I7 step', `in the log of member ${member} at ${entry.index}, ${step}`)
  }
}

function isStep(from: Configuration, to: Configuration): boolean {
  // The first configuration of a cluster.
  if (from.voters.length === 0) return true
  if (from.votersOutgoing !== null) return to.votersOutgoing === null && same(from.voters, to.voters)
  if (to.votersOutgoing !== null) return same(from.voters, to.votersOutgoing)
  const added = to.voters.filter((voter) => !from.voters.includes(voter))
  const removed = from.voters.filter((voter) => !to.voters.includes(voter))
  return added.length + removed.length <= 1
}

function same(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((one) => b.includes(one))
}

function describe({ voters, votersOutgoing }: Configuration): string {
  return votersOutgoing === null ? `[${voters.join()}]` : `[${voters.join()}]&[${votersOutgoing.join()}]`
}
