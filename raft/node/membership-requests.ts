import { Deferred } from '../../base/deferred.ts'
import type { Clock, Timer } from '../../base/clock.ts'
import type { MembersChanged } from '../consensus.ts'
import type { MemberChange } from '../core/member-change.ts'
import type { Configuration, LogIndex, NodeId } from '../core/types.ts'
import type { MembershipAnswer } from '../ports.ts'
import { ConsensusError, MembershipError } from '../protocol/node-errors.ts'

type Pending = {
  readonly change: MemberChange
  readonly deferred: Deferred<MembersChanged>
  readonly deadline: Timer
  retry: Timer
}

/**
 * Membership changes that callers wait for. A change without an answer is requested again, also
 * after a change of leader. Repetitions are harmless: a change that is in force counts as done, and
 * an addition is refused if the members changed since the id was drawn, so a repetition that
 * arrives after the removal of the member does not add it again (see `MemberChange`).
 */
export class MembershipRequests {
  readonly #clock: Clock
  readonly #send: (request: number, change: MemberChange) => void
  readonly #pending = new Map<number, Pending>()
  #nextRequest = 1

  constructor(clock: Clock, send: (request: number, change: MemberChange) => void) {
    this.#clock = clock
    this.#send = send
  }

  /** See `MembershipPort.changeMembers`. */
  change(change: MemberChange, deadlineMs: number): Promise<MembersChanged> {
    if (this.#pending.size >= pendingMax) {
      return Promise.reject(new ConsensusError('overloaded', 'too many membership changes are pending'))
    }
    const request = this.#nextRequest++
    const deferred = new Deferred<MembersChanged>()
    const waitMs = Math.max(0, deadlineMs - this.#clock.monotonicMs())
    const deadline = this.#clock.after(waitMs, () => {
      const late = 'the membership change was not committed in time; it may still take effect'
      this.#fail(request, new ConsensusError('timed-out', late))
    })
    const retry = this.#clock.after(retryMs, () => this.#again(request))
    this.#pending.set(request, { change, deferred, deadline, retry })
    this.#send(request, change)
    return deferred.promise
  }

  answered(request: number, answer: MembershipAnswer): void {
    const pending = this.#pending.get(request)
    if (pending === undefined) return
    switch (answer.kind) {
      case 'done':
        this.#forget(request, pending)
        return pending.deferred.resolve({ configuration: answer.configuration, index: answer.index })
      case 'refused':
        return this.#fail(request, new MembershipError(answer.reason, answer.message))
      case 'later':
        pending.retry.cancel()
        pending.retry = this.#clock.after(laterMs, () => this.#again(request))
    }
  }

  /** Repeats all requests, because the new leader has not received them yet. */
  leaderChanged(): void {
    for (const [request, { change }] of this.#pending) this.#send(request, change)
  }

  /**
   * Ends all requests, because this member was removed and gets no answers any more. A request for
   * this removal succeeds; the others fail, and have to be sent to another member.
   */
  removed(self: NodeId, configuration: Configuration, index: LogIndex): void {
    for (const [request, pending] of [...this.#pending]) {
      const { change, deferred } = pending
      if (change.kind === 'remove' && change.id === self) {
        this.#forget(request, pending)
        deferred.resolve({ configuration, index })
      } else {
        const other = 'this member was removed from its cluster: use another one'
        this.#fail(request, new ConsensusError('stopped', other))
      }
    }
  }

  stop(): void {
    for (const request of [...this.#pending.keys()]) {
      this.#fail(request, new ConsensusError('stopped', 'this member is stopping'))
    }
  }

  #again(request: number): void {
    const pending = this.#pending.get(request)
    if (pending === undefined) return
    pending.retry = this.#clock.after(retryMs, () => this.#again(request))
    this.#send(request, pending.change)
  }

  #fail(request: number, failure: ConsensusError | MembershipError): void {
    const pending = this.#pending.get(request)
    if (pending === undefined) return
    this.#forget(request, pending)
    pending.deferred.reject(failure)
  }

  #forget(request: number, { deadline, retry }: Pending): void {
    this.#pending.delete(request)
    deadline.cancel()
    retry.cancel()
  }
}

/** Limit of the pending changes of one process. Above it a change fails with `overloaded`. */
const pendingMax = 32
/** A request without an answer for this long is presumed lost, in ms. */
const retryMs = 500
/** Delay before the retry of a request that no member could answer yet, in ms. */
const laterMs = 50
