import { Deferred } from '../../base/deferred.ts'
import type { NodeId } from '../core/types.ts'
import type { PeerIdentity, PeerVerdict } from '../ports.ts'
import type { ClusterRecord, PeerLog } from './founding.ts'

/** Stores the log ids of a member's peers. It is small, and is written once for each peer. */
export interface PeerBook {
  known(): readonly PeerLog[]
  /**
   * Durable on return.
   *
   * @param current ids of all members now: records of others are removed
   */
  record(met: PeerLog, current: ReadonlySet<NodeId>): void
}

export type PeerLogIdsOptions = {
  readonly known: readonly PeerLog[]
  /** This member's cluster as of now; null: it is still gathering its founders. */
  readonly cluster: () => ClusterRecord | null
  /** Makes the record durable; the caller calls `PeerLogIds.recorded` then. */
  readonly record: (met: PeerLog) => void
}

/**
 * Decides which peers may connect: those of the same cluster, each always with the same log. From
 * the moment at which this member agreed to a cluster, the log id of a peer is durable before the
 * first message of the peer is accepted: that of a founder in the cluster record, that of another
 * peer in the `PeerBook`. A peer that presents another log id later lost its log, and with it its
 * vote, and is refused. So a new log never votes or acknowledges in place of a lost one.
 *
 * The number of peers is bounded by the configuration: the handshake refuses callers that are not
 * members before this check.
 */
export class PeerLogIds {
  readonly #options: PeerLogIdsOptions
  readonly #known = new Map<NodeId, string>()
  readonly #recording = new Map<NodeId, Deferred<void>>()

  constructor(options: PeerLogIdsOptions) {
    this.#options = options
    for (const { peer, logId } of options.known) this.#known.set(peer, logId)
  }

  /** Resolves once the log id that the verdict depends on is durable here. */
  async verify(peer: NodeId, { logId, clusterId, phase }: PeerIdentity): Promise<PeerVerdict> {
    const cluster = this.#options.cluster()
    // That cluster was founded without this member's log: otherwise this member would have agreed
    // to it before.
    if (cluster === null) return phase === 'founded' ? 'other-cluster' : 'ok'
    const founder = cluster.founders.find((one) => one.peer === peer)
    // All founders of a founded cluster had agreed to it, so a gathering founder lost its
    // directory.
    if (phase === 'gathering') return !cluster.founded && founder?.logId === logId ? 'ok' : 'lost-log'
    if (clusterId !== cluster.clusterId) return 'other-cluster'
    if (founder !== undefined) return founder.logId === logId ? 'ok' : 'lost-log'
    if (!this.#known.has(peer)) await this.#recordPeer(peer, logId)
    return this.#known.get(peer) === logId ? 'ok' : 'lost-log'
  }

  /** Takes a record that is durable. */
  recorded({ peer, logId }: PeerLog): void {
    if (!this.#known.has(peer)) this.#known.set(peer, logId)
    this.#recording.get(peer)?.resolve()
    this.#recording.delete(peer)
  }

  /** Records the log id of a peer. Of two concurrent calls for one peer, the first one counts. */
  #recordPeer(peer: NodeId, logId: string): Promise<void> {
    const pending = this.#recording.get(peer)
    if (pending !== undefined) return pending.promise
    const recording = new Deferred<void>()
    this.#recording.set(peer, recording)
    this.#options.record({ peer, logId })
    return recording.promise
  }
}

/** Keeps the log ids in memory, for members without durable state. */
export class MemoryPeerBook implements PeerBook {
  readonly #logs = new Map<NodeId, PeerLog>()

  known(): readonly PeerLog[] {
    return [...this.#logs.values()]
  }

  record(met: PeerLog, current: ReadonlySet<NodeId>): void {
    for (const peer of this.#logs.keys()) if (!current.has(peer)) this.#logs.delete(peer)
    this.#logs.set(met.peer, met)
  }
}
