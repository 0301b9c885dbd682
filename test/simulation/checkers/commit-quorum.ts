import type { Configuration } from '../../../raft/index.ts'
import { Finding } from './finding.ts'
import type { ShadowLog } from './shadow-log.ts'

/** Whether `has` is true of a majority, of both majorities while a change is under way. */
export function isQuorum(configuration: Configuration, has: (member: number) => boolean): boolean {
  return [configuration.voters, configuration.votersOutgoing].every((voters) => {
    if (voters === null) return true
    return voters.filter(has).length * 2 > voters.length
  })
}

/**
 * I5: what is called committed is durable on a quorum of the configuration that the member which says so goes by. I15:
 * where one member is the quorum, on its own disk.
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
  const configuration = logs.get(member)?.configuration
  if (configuration === undefined) return
  const has = (voter: number): boolean => logs.get(voter)?.durable.holds(index, description) === true
  if (isQuorum(configuration, has)) return
  const holders = configuration.voters.filter(has)
  const claim = configuration.voters.length === 1 ? 'I15 durable' : 'I5 durable on a quorum'
  throw new Finding(
    claim,
    `member ${member} committed ${index}, durable only on ${holders.join(', ') || 'none'}`,
  )
}
