import type { LogIndex, MemberInfo, NodeId } from '../core/types.ts'
import type { Clock } from '../../base/clock.ts'
import type { PeerMessage } from '../ports.ts'
import { repairLogBytesMin } from './log-needs.ts'
import type { LogNeed } from './log-needs.ts'

/** The driver, as the relay uses it. */
export interface RepairRelayDependencies {
  readonly self: NodeId
  readonly leader: NodeId | null
  readonly members: readonly MemberInfo[]
  /** The base of the log: a snapshot before it cannot be installed. */
  readonly logBase: LogIndex
  send(message: PeerMessage): void
  /** Streams a snapshot to a member that requested it. */
  sendState(peer: NodeId, atLeast: LogIndex): void
}

/**
 * Requests snapshots for repair: a member with a quarantined state sends a request to its leader
 * repeatedly until it receives a snapshot. A request expires when it is not repeated, so that no
 * snapshot is installed that is not needed any more.
 */
export class RepairRelay {
  readonly #dependencies: RepairRelayDependencies
  readonly #clock: Clock
  #request: StateRequest | null = null

  constructor(dependencies: RepairRelayDependencies, clock: Clock) {
    this.#dependencies = dependencies
    this.#clock = clock
  }

  /** The lowest index of a snapshot that may be installed here; null: none is wanted. */
  get wanted(): LogIndex | null {
    const request = this.#current
    return request === null ? null : later(request.atLeast, this.#dependencies.logBase)
  }

  /**
   * The part of the log that is kept while a requested snapshot is on its way, so that the log is
   * not compacted beyond the index of the snapshot.
   */
  get logNeed(): LogNeed | null {
    const request = this.#current
    return request === null ? null : { from: request.sentFrom, stateBytes: repairLogBytesMin }
  }

  get #current(): StateRequest | null {
    const request = this.#request
    return request !== null && this.#clock.monotonicMs() < request.untilMs ? request : null
  }

  /**
   * Handles a request of this member's api thread. A leader cannot send the request to another
   * leader: it has to transfer leadership first.
   */
  local(atLeast: LogIndex): void {
    const { self, leader, logBase } = this.#dependencies
    const sentFrom = later(atLeast, logBase)
    this.#request = { atLeast, sentFrom, untilMs: this.#clock.monotonicMs() + requestMsMax }
    if (leader !== null && leader !== self)
      this.#dependencies.send({ kind: 'state-wanted', from: self, to: leader, atLeast: sentFrom })
  }

  /**
   * Ends the request, because a snapshot was installed. Another one for the same request would
   * replace a trusted state.
   */
  fulfilled(): void {
    this.#request = null
  }

  /**
   * Handles a request of a peer. Only a leader sends its state, because only a leader's state is
   * certain to be recent enough.
   */
  requested(from: NodeId, atLeast: LogIndex): void {
    const { self, leader, members } = this.#dependencies
    if (leader === self && members.some(({ id }) => id === from)) this.#dependencies.sendState(from, atLeast)
  }
}

type StateRequest = {
  readonly atLeast: LogIndex
  /** The index that was sent to the leader: the base of the log at that time, if it was higher. */
  readonly sentFrom: LogIndex
  readonly untilMs: number
}

function later(a: LogIndex, b: LogIndex): LogIndex {
  return a > b ? a : b
}

/** Lifetime of a request in ms: ten times the period of its repetition (`wantPeriodMs`). */
const requestMsMax = 5000
