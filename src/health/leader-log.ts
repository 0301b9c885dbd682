import type { Logger } from 'pino'
import type { Clock } from '../../base/clock.ts'
import type { Consensus, NodeId } from '../../raft/index.ts'

export type LeaderLogDependencies = {
  readonly consensus: Pick<Consensus<never>, 'status' | 'onStatus'>
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly log: Pick<Logger, 'info'>
}

/**
 * Logs one line for each new leader, on every member: its name and term, and for how long this
 * member was without a leader, counted from its last contact with a quorum.
 * @returns a function that stops it
 */
export function logLeaderChanges({ consensus, clock, log }: LeaderLogDependencies): () => void {
  let reported: { readonly leader: NodeId; readonly term: number } | null = null
  /** The last contact before the new leader; null before the first contact. */
  let contactMs: number | null = null
  const look = (): void => {
    const { leader, term, quorumContactMs, configuration, id } = consensus.status
    if (leader === null || (reported?.leader === leader && reported.term === term)) {
      contactMs = quorumContactMs ?? contactMs
      return
    }
    const named = configuration.members.find((member) => member.id === leader)
    // A joining member learns of the leader before it has the configuration.
    if (named === undefined) return
    const gapMs = contactMs === null ? null : Math.max(0, Math.round(clock.monotonicMs() - contactMs))
    const facts = { leader: named.name, term, ...(leader === id ? { self: true } : {}) }
    log.info(gapMs === null ? facts : { ...facts, gapMs }, 'new leader')
    reported = { leader, term }
    contactMs = quorumContactMs ?? contactMs
  }
  look()
  return consensus.onStatus(look)
}
