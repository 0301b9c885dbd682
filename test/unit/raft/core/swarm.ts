import type { SeededRandom } from '../../../../base/random.ts'
import { nodeId } from '../../../../raft/core/types.ts'
import type { NodeId } from '../../../../raft/core/types.ts'

/**
 * Fault rates of one run; drawn from its seed, so that some runs are calm and others are not.
 * Probabilities are per step; those of `loss`, `copies` and `reorder` are per message, `slowDisks`
 * per write, `slowReads` per fetch.
 */
export type Swarm = {
  readonly loss: number
  readonly copies: number
  readonly reorder: number
  readonly crashes: number
  /** Compactions of a log. */
  readonly compactions: number
  /** Changes of the membership. */
  readonly changes: number
  readonly slowDisks: number
  readonly partitions: number
  readonly pauses: number
  /** Links that break in one direction only. */
  readonly oneWayCuts: number
  /** Old messages that arrive again after a long time. */
  readonly replays: number
  readonly transfers: number
  readonly campaigns: number
  /** Reports that a peer has ended, right or wrong. */
  readonly ends: number
  /** Entries fetched from the log arrive later. */
  readonly slowReads: number
  /** A member with a faster clock. */
  readonly hasty: NodeId | null
  readonly electionTicks: number
  /** The size limit of an append message, which fits either one entry or a few. */
  readonly appendBytesMax: number
}

export function drawSwarm(random: SeededRandom): Swarm {
  return {
    loss: random.pick([0, 0.02, 0.2]),
    copies: random.pick([0, 0.05, 0.2]),
    reorder: random.pick([0, 0.2, 0.6]),
    crashes: random.pick([0, 0.002, 0.01, 0.03]),
    compactions: random.pick([0, 0.01, 0.05]),
    changes: random.pick([0, 0.005, 0.02, 0.1]),
    slowDisks: random.pick([0, 0.3, 0.8]),
    partitions: random.pick([0, 0.002, 0.01]),
    pauses: random.pick([0, 0.002, 0.02]),
    oneWayCuts: random.pick([0, 0, 0.01]),
    replays: random.pick([0, 0, 0.05]),
    transfers: random.pick([0, 0.001, 0.03]),
    campaigns: random.pick([0.001, 0.02]),
    ends: random.pick([0, 0.01, 0.05]),
    slowReads: random.pick([0, 0.5]),
    hasty: random.pick([null, null, nodeId(1), nodeId(2)]),
    electionTicks: random.pick([3, 3, 10]),
    appendBytesMax: random.pick([40, 100]),
  }
}
