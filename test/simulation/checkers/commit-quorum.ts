import type { Configuration } from '../../../raft/index.ts'
import { Finding } from './finding.ts'
import type { ShadowLog } from './shadow-log.ts'

/** Returns whether `has` is true for a majority of the voters, of both sets in a joint change. */
export function isQuorum(configuration: Configuration, has: (member: number) => boolean): boolean {
  return [configuration.voters, configuration.votersOutgoing].every((voters) => {
    if (voters === null) return true
    return voters.filter(has).length * 2 > voters.length
  })
}

/**
 * I5: an entry reported as committed is durable on a quorum of the configuration in force when it
 * was committed, as known to the reporting member. I15: in a cluster of one voter, it is durable on
 * the disk of that voter.
 *
 * The configuration in force was that at the entry, or the next one after it: any later one would
 * have required this entry to be committed first. For a configuration entry, only its own
 * configuration counts.
 *
 * @param description of the entry
 * @throws Finding
 */
export function checkCommitDurable(
  logs: ReadonlyMap<number, ShadowLog>,
  member: number,
  entry: { readonly index: number; readonly description: string },
): void {
  const { index, description } = entry
  const log = logs.get(member)
  if (log === undefined) return
  const { at, next } = log.configurationsAt(index)
  // A joined member does not know the configurations of earlier entries.
  if (at.configuration.voters.length === 0) return
  const has = (voter: number): boolean => logs.get(voter)?.durable.holds(index, description) === true
  if (isQuorum(at.configuration, has)) return
  if (at.index < index && next !== null && isQuorum(next.configuration, has)) return
  const { voters } = at.configuration
  const holders = voters.filter(has)
  const claim = voters.length === 1 ? 'I15 durable' : 'I5 durable on a quorum'
  throw new Finding(
    claim,
    `member ${member} committed ${index}, durable only on ${holders.join(', ') || 'none'}`,
  )
}
