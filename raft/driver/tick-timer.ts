import type { Clock, Timer } from '../../base/clock.ts'
import type { Raft } from '../core/raft.ts'
import type { PeerMessage } from '../ports.ts'
import type { NodeTiming } from '../protocol/node-options.ts'
import type { ApiToRaft } from '../protocol/thread-messages.ts'
import { Idleness } from './idleness.ts'

export type TickTimerOptions = {
  readonly clock: Pick<Clock, 'monotonicMs' | 'after'>
  readonly timing: NodeTiming
  readonly core: Pick<Raft, 'leader' | 'ticksUntilDue' | 'ticksUntilTimeout'>
  /** Whether work has been pending for so long that stalls must be looked for. */
  readonly mayStall: () => boolean
  /**
   * Handles the passage of this number of ticks.
   *
   * @param isLate more time has passed than is counted
   */
  readonly pass: (ticks: number, isLate: boolean) => void
}

/**
 * Maximum number of ticks until the timer of an idle member fires, and of one with work: that often
 * it looks for stalls, and sends the durable index to the api thread.
 */
const TICKS_AHEAD_MAX = { idle: 48, active: 4 } as const

/**
 * Maximum number of ticks by which a timer may be late. After a longer pause of this process the
 * other ticks are skipped, so that the messages that arrived during the pause are read before a
 * timeout.
 */
const LATE_TICKS_MAX = 4

/**
 * A tick may be passed this many ms early, because a timer may fire so early: it would have to be
 * set again for the rest.
 */
const EARLY_MS = 3

/**
 * The timer fires this many ticks before an election is due, or before a leader would step down,
 * and then each tick: a timer that is late causes neither by itself, because what the others sent
 * is read first.
 */
const TICKS_BEFORE_TIMEOUT = LATE_TICKS_MAX + 1

/**
 * Counts time in ticks. A wake-up of a thread costs far more than the work of a tick, so a member
 * that has a leader passes several ticks at once: its timer fires when the core has something to
 * do. Ticks are also passed before each message of a peer or of the api thread and each report of
 * the transport, so that a timeout of n ticks never takes less than n - 1 ticks of time.
 */
export class TickTimer {
  readonly #options: TickTimerOptions
  readonly #idleness = new Idleness()
  /** The time until which ticks were passed. */
  #passedMs: number
  /** The time at which the timer is to fire. */
  #dueMs = 0
  #timer: Timer | null = null
  #isStopped = false

  constructor(options: TickTimerOptions) {
    this.#options = options
    this.#passedMs = options.clock.monotonicMs()
    this.#set()
  }

  /** To be called before a message of a peer is handled. */
  received(message: PeerMessage): void {
    this.#pass()
    const wasIdle = this.isIdle
    this.#idleness.received(message, this.#options.clock.monotonicMs())
    if (wasIdle && !this.isIdle) this.#set()
  }

  /** To be called before a message of the api thread is handled. */
  taken(message: ApiToRaft): void {
    // A timeout that the message begins is counted from now on, and not from the last timer.
    this.#pass()
    const wasIdle = this.isIdle
    this.#idleness.taken(message, this.#options.clock.monotonicMs())
    // The timer of an idle member would fire too late for the work that this message begins.
    if (wasIdle && !this.isIdle) this.#set()
  }

  /** To be called before a report of the transport is handled. */
  reported(): void {
    this.#pass()
  }

  /** To be called after messages were handled: the core may be due earlier or later now. */
  handled(): void {
    if (this.#isStopped) return
    const dueMs = this.#nextMs()
    // The timer of a member with work fires soon anyway.
    if (dueMs < this.#dueMs || (dueMs > this.#dueMs && this.isIdle)) this.#set()
  }

  stop(): void {
    this.#isStopped = true
    this.#timer?.cancel()
  }

  #set(): void {
    const { clock } = this.#options
    this.#timer?.cancel()
    if (this.#isStopped) return
    this.#dueMs = this.#nextMs()
    // A timer may fire a little early. Without the minimum of 1 ms it would then be set for 0 ms
    // repeatedly.
    this.#timer = clock.after(Math.max(1, this.#dueMs - clock.monotonicMs()), () => {
      this.#pass()
      this.#set()
    })
  }

  /**
   * Whether there is a leader, no work is overdue, and nothing but heartbeats and checks was
   * exchanged for a while.
   */
  get isIdle(): boolean {
    const { clock, core, mayStall } = this.#options
    return core.leader !== null && this.#idleness.isIdle(clock.monotonicMs()) && !mayStall()
  }

  /** Returns the time at which the next tick has to be passed at the latest. */
  #nextMs(): number {
    const { core, timing } = this.#options
    const untilDue = Math.min(core.ticksUntilDue, core.ticksUntilTimeout - TICKS_BEFORE_TIMEOUT)
    const ticksMax = TICKS_AHEAD_MAX[this.isIdle ? 'idle' : 'active']
    const ticks = core.leader === null ? 1 : Math.min(Math.max(1, untilDue), ticksMax)
    return this.#passedMs + ticks * timing.tickMs
  }

  /** Passes the ticks since the last call. */
  #pass(): void {
    const { clock, timing, pass } = this.#options
    const { tickMs } = timing
    const nowMs = clock.monotonicMs()
    const ticks = Math.floor((nowMs + EARLY_MS - this.#passedMs) / tickMs)
    if (ticks <= 0) return
    const planned = Math.max(1, Math.round((this.#dueMs - this.#passedMs) / tickMs))
    const isLate = ticks > planned + LATE_TICKS_MAX
    this.#passedMs = isLate ? nowMs : this.#passedMs + ticks * tickMs
    pass(isLate ? Math.max(planned, LATE_TICKS_MAX + 1) : ticks, isLate)
  }
}
