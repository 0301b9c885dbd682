import type { Clock, Timer } from '../../base/clock.ts'
import type { NodeId } from '../core/types.ts'
import type { PeerMessage } from '../ports.ts'
import type { NodeTiming } from '../protocol/node-options.ts'
import type { ApiToRaft } from '../protocol/thread-messages.ts'
import { Idleness } from './idleness.ts'

export type TickTimerOptions = {
  readonly clock: Pick<Clock, 'monotonicMs' | 'after'>
  readonly timing: NodeTiming
  readonly self: NodeId
  readonly core: { readonly leader: NodeId | null }
  /**
   * Handles the passage of this number of ticks.
   *
   * @param isLate more time has passed than is counted
   */
  readonly pass: (ticks: number, isLate: boolean) => void
}

/** Maximum number of ticks until the timer fires. */
const TICKS_AHEAD_MAX = 5

/**
 * Maximum number of ticks that are passed at once, because a timer may be a little late. After a
 * longer pause of this process the other ticks are skipped, so that the messages that arrived
 * during the pause are read before a timeout.
 */
const TICKS_AT_ONCE_MAX = 6

/**
 * Counts time in ticks. A wake-up of an idle process costs far more than the work of a tick, so an
 * idle member passes several ticks at once. Ticks are also passed before each message of a peer or
 * of the api thread, so that a timeout of n ticks never takes less than n - 1 ticks of time.
 */
export class TickTimer {
  readonly #options: TickTimerOptions
  readonly #idleness: Idleness
  /** The time until which ticks were passed. */
  #passedMs: number
  #timer: Timer | null = null
  #isStopped = false

  constructor(options: TickTimerOptions) {
    this.#options = options
    this.#idleness = new Idleness(options.timing.heartbeatMs)
    this.#passedMs = options.clock.monotonicMs()
    this.#set()
  }

  /** To be called before a message of a peer is handled. */
  received(message: PeerMessage): void {
    this.#pass()
    this.#idleness.received(message, this.#options.clock.monotonicMs())
  }

  /** To be called before a message of the api thread is handled. */
  taken(message: ApiToRaft): void {
    // A timeout that the message begins is counted from now on, and not from the last timer.
    this.#pass()
    // The timer of an idle member would fire too late for the work that this message begins.
    if (this.#idleness.taken(message, this.#options.clock.monotonicMs())) this.#set()
  }

  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
  }

  #set(): void {
    const { clock, timing, self, core } = this.#options
    this.#timer?.cancel()
    if (this.#isStopped) return
    const nowMs = clock.monotonicMs()
    const role = core.leader === null ? 'has-no-leader' : core.leader === self ? 'leads' : 'follows'
    const idleMs = this.#idleness.timerMs(role, nowMs) ?? 0
    const ticks = Math.min(Math.max(1, Math.ceil(idleMs / timing.tickMs)), TICKS_AHEAD_MAX)
    const dueMs = this.#passedMs + ticks * timing.tickMs
    // A timer may fire a little early. Without the minimum of 1 ms it would then be set for 0 ms
    // repeatedly.
    this.#timer = clock.after(Math.max(1, dueMs - nowMs), () => {
      this.#pass()
      this.#set()
    })
  }

  /** Passes the ticks since the last call. */
  #pass(): void {
    const { clock, timing, pass } = this.#options
    const nowMs = clock.monotonicMs()
    const ticks = Math.floor((nowMs - this.#passedMs) / timing.tickMs)
    if (ticks <= 0) return
    const isLate = ticks > TICKS_AT_ONCE_MAX
    this.#passedMs = isLate ? nowMs : this.#passedMs + ticks * timing.tickMs
    pass(Math.min(ticks, TICKS_AT_ONCE_MAX), isLate)
  }
}
