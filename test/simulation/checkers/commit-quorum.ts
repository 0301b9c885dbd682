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
 * I5: what is called committed is durable on a quorum of the configuration in force when it was
 * committed, as the member knows it that says so. I15: where one member is the quorum, on its own
 * disk.
 *
 * In force was the one at the entry, or the one written behind it: a next one would have needed
 * this entry to be committed. One that is an entry itself counts alone.
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
  // One that joined does not know by whom was committed what was there before it.
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
