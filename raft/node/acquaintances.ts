import { Deferred } from '../base/deferred.ts'
import type { NodeId } from '../core/types.ts'

/** A member and the log it came with. */
export type PeerLog = { readonly peer: NodeId; readonly logId: string }

/** Where a member keeps by which logs it knows its peers. Small, and written once per peer. */
export interface PeerBook {
  known(): readonly PeerLog[]
  /** Durable on return. */
  record(met: PeerLog): void
}

/**
 * Who came with which log. The first log of a peer is recorded durably before the peer may say a word; whoever comes
 * with another one later lost what it had promised, its vote among it, and is kept out. So no acknowledgement or vote
 * of a lost log is ever replaced by one of its successor.
 *
 * Bounded by the configuration: strangers are turned away before they are asked for their log.
 */
export class Acquaintances {
  readonly #known = new Map<NodeId, string>()
  readonly #recording = new Map<NodeId, Deferred<void>>()
  readonly #record: (met: PeerLog) => void

  /** @param record has it written; `recorded` tells when it is durable */
  constructor(known: readonly PeerLog[], record: (met: PeerLog) => void) {
    for (const { peer, logId } of known) this.#known.set(peer, logId)
    this.#record = record
  }

  async meet(peer: NodeId, logId: string): Promise<'welcome' | 'lost-log'> {
    if (!this.#known.has(peer)) await this.#introduce(peer, logId)
    return this.#known.get(peer) === logId ? 'welcome' : 'lost-log'
  }

  recorded({ peer, logId }: PeerLog): void {
    if (!this.#known.has(peer)) this.#known.set(peer, logId)
    this.#recording.get(peer)?.resolve()
    this.#recording.delete(peer)
  }

  /** Of two that come at once under one name the first counts. */
  #introduce(peer: NodeId, logId: string): Promise<void> {
    const under = this.#recording.get(peer)
    if (under !== undefined) return under.promise
    const recording = new Deferred<void>()
    this.#recording.set(peer, recording)
    this.#record({ peer, logId })
    return recording.promise
  }
}

/** For members that outlive nothing. */
export class MemoryPeerBook implements PeerBook {
  readonly #logs = new Map<NodeId, PeerLog>()

  known(): readonly PeerLog[] {
    return [...this.#logs.values()]
  }

  record(met: PeerLog): void {
    this.#logs.set(met.peer, met)
  }
}
