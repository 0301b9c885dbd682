import { Deferred } from '../base/deferred.ts'
import type { Clock, Timer } from '../base/clock.ts'
import type { ConsensusStatus } from '../consensus.ts'
import type { NodeId } from '../core/types.ts'
import { ConsensusFailure } from './errors.ts'

/** Requests to hand leadership to somebody, until they lead or time is over. */
export class Transfers {
  readonly #clock: Clock
  readonly #send: (request: number, to: NodeId) => void
  readonly #pending = new Map<number, Pending>()
  #nextRequest = 1

  constructor(clock: Clock, send: (request: number, to: NodeId) => void) {
    this.#clock = clock
    this.#send = send
  }

  /** @throws ConsensusFailure `no-leader` when none is known, `not-a-voter`, `overloaded`, `timed-out` */
  begin(to: NodeId, status: ConsensusStatus, deadlineMs: number): Promise<void> {
    if (status.leader === to) return Promise.resolve()
    if (status.leader === null) {
      return Promise.reject(new ConsensusFailure('no-leader', 'nobody leads who could hand leadership on'))
    }
    if (!status.configuration.voters.includes(to)) {
      return Promise.reject(new ConsensusFailure('not-a-voter', `member ${to} does not vote`))
    }
    if (this.#pending.size >= pendingMax) {
      return Promise.reject(new ConsensusFailure('overloaded', 'other transfers are under way'))
    }
    const request = this.#nextRequest++
    const done = this.#wait(request, to, deadlineMs, `member ${to} did not take over in time`)
    this.#ask(request, to)
    return done
  }

  /** What was lost on the way, or given up by the leader, is asked again. */
  #ask(request: number, to: NodeId): void {
    if (!this.#pending.has(request)) return
    this.#send(request, to)
    this.#clock.after(askAgainMs, () => this.#ask(request, to))
  }

  /** Resolves once anyone else leads. @throws ConsensusFailure `timed-out`, `stopped` */
  awaitOther(deadlineMs: number): Promise<void> {
    return this.#wait(this.#nextRequest++, null, deadlineMs, 'nobody took over in time')
  }

  refused(request: number): void {
    this.#fail(request, new ConsensusFailure('not-a-voter', 'only a voter can lead'))
  }

  statusTold(status: ConsensusStatus): void {
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
      this.#fail(request, new ConsensusFailure('stopped', 'this member is stopping'))
    }
  }

  #wait(request: number, to: NodeId | null, deadlineMs: number, late: string): Promise<void> {
    const deferred = new Deferred<void>()
    const timer = this.#clock.after(Math.max(0, deadlineMs - this.#clock.monotonicMs()), () => {
      this.#fail(request, new ConsensusFailure('timed-out', late))
    })
    this.#pending.set(request, { to, deferred, timer })
    return deferred.promise
  }

  #fail(request: number, failure: ConsensusFailure): void {
    const pending = this.#pending.get(request)
    if (pending === undefined) return
    this.#pending.delete(request)
    pending.timer.cancel()
    pending.deferred.reject(failure)
  }
}

/** Transfers one caller can wait for at once; more is a mistake, and answered so. */
const pendingMax = 16
/** In ms; a leader gives a transfer up after an election timeout. */
const askAgainMs = 500

/** @param to null: anyone else */
type Pending = { readonly to: NodeId | null; readonly deferred: Deferred<void>; readonly timer: Timer }
