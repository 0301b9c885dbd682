import { Deferred } from '../../base/deferred.ts'
import type { Clock, Timer } from '../../base/clock.ts'
import type { ConsensusStatus } from '../consensus.ts'
import type { NodeId } from '../core/types.ts'
import type { TransferRefusal } from '../ports.ts'
import { ConsensusError } from '../protocol/node-errors.ts'

/** Requests for a leadership transfer, until the target leads or the deadline passes. */
export class Transfers {
  readonly #clock: Clock
  readonly #electionMs: number
  readonly #send: (request: number, to: NodeId) => void
  readonly #pending = new Map<number, Pending>()
  #nextRequest = 1

  /**
   * @param electionMs interval at which a request is repeated. It is the election timeout, after
   *   which a leader abandons a transfer and refuses that target for a while
   */
  constructor(clock: Clock, electionMs: number, send: (request: number, to: NodeId) => void) {
    this.#clock = clock
    this.#electionMs = electionMs
    this.#send = send
  }

  /**
   * Resolves once `to` leads.
   *
   * @throws ConsensusError `no-leader` when none is known, `overloaded`, `timed-out`, `stopped`, or
   *   the reason of a refusal
   */
  begin(to: NodeId, status: ConsensusStatus, deadlineMs: number): Promise<void> {
    if (status.leader === to) return Promise.resolve()
    if (status.leader === null) {
      return Promise.reject(new ConsensusError('no-leader', 'there is no leader to transfer leadership from'))
    }
    if (!status.configuration.voters.includes(to)) {
      return Promise.reject(refusal('not-a-voter', nameOf(status, to)))
    }
    if (this.#pending.size >= pendingMax) {
      return Promise.reject(new ConsensusError('overloaded', 'too many transfers are in progress'))
    }
    const request = this.#nextRequest++
    const name = nameOf(status, to)
    const done = this.#wait(request, { to, name }, deadlineMs, `${name} did not take over in time`)
    this.#sendRequest(request, to)
    return done
  }

  /**
   * Sends the request, and repeats it in case it was lost. A leader that already transfers to this
   * target continues; one that abandoned that transfer refuses.
   */
  #sendRequest(request: number, to: NodeId): void {
    if (!this.#pending.has(request)) return
    this.#send(request, to)
    this.#clock.after(this.#electionMs, () => this.#sendRequest(request, to))
  }

  /**
   * Resolves once another member leads.
   *
   * @throws ConsensusError `timed-out`, `stopped`
   */
  awaitOther(deadlineMs: number): Promise<void> {
    return this.#wait(
      this.#nextRequest++,
      { to: null, name: '' },
      deadlineMs,
      'no other member took over in time',
    )
  }

  refused(request: number, reason: TransferRefusal): void {
    const pending = this.#pending.get(request)
    if (pending !== undefined) this.#fail(request, refusal(reason, pending.name))
  }

  onStatus(status: ConsensusStatus): void {
    for (const [request, { to, deferred, timer }] of this.#pending) {
      const { leader, id } = status
      if (to === null ? leader === null || leader === id : leader !== to) continue
      this.#pending.delete(request)
      timer.cancel()
      deferred.resolve(undefined)
    }
  }

  stop(): void {
    for (const request of [...this.#pending.keys()]) {
      this.#fail(request, new ConsensusError('stopped', 'this member is stopping'))
    }
  }

  #wait(
    request: number,
    { to, name }: Pick<Pending, 'to' | 'name'>,
    deadlineMs: number,
    late: string,
  ): Promise<void> {
    const deferred = new Deferred<void>()
    const timer = this.#clock.after(Math.max(0, deadlineMs - this.#clock.monotonicMs()), () => {
      this.#fail(request, new ConsensusError('timed-out', late))
    })
    this.#pending.set(request, { to, name, deferred, timer })
    return deferred.promise
  }

  #fail(request: number, failure: ConsensusError): void {
    const pending = this.#pending.get(request)
    if (pending === undefined) return
    this.#pending.delete(request)
    pending.timer.cancel()
    pending.deferred.reject(failure)
  }
}

/** Limit of the pending transfers. Above it a transfer fails with `overloaded`. */
const pendingMax = 16

/** @param to null: any other member */
type Pending = {
  readonly to: NodeId | null
  /** The name of `to`, for messages. */
  readonly name: string
  readonly deferred: Deferred<void>
  readonly timer: Timer
}

function nameOf({ configuration }: ConsensusStatus, id: NodeId): string {
  return configuration.members.find((member) => member.id === id)?.name ?? `member ${id}`
}

/** Returns the error for a refusal: one line that names the target. */
function refusal(reason: TransferRefusal, name: string): ConsensusError {
  switch (reason) {
    case 'not-a-voter':
      return new ConsensusError(reason, `${name} does not vote: only a voter can lead`)
    case 'target-silent':
      return new ConsensusError(reason, `${name} has not responded lately: check its process, or restart it`)
    case 'target-behind':
      return new ConsensusError(reason, `${name} lacks too much of the log: try again once it has caught up`)
    case 'target-declined':
      return new ConsensusError(
        reason,
        `${name} did not take over when the leader asked it to: check whether its disk is stalled, and try again later`,
      )
  }
}
