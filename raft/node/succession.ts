import type { TransferAnswer } from '../core/errors.ts'
import type { CoreStatus } from '../core/ready.ts'
import type { NodeId } from '../core/types.ts'
import { HandOver } from './hand-over.ts'
import { Debt, standsStill, StallWatch } from './stall-watch.ts'
import type { Owed, StallLimits } from './stall-watch.ts'
import { healthiestSuccessor, othersWrite } from './status.ts'

/** The part of the core that leadership is handed on with. */
export interface SuccessionCore {
  readonly leader: NodeId | null
  status(): CoreStatus
  transferLeadership(to: NodeId): TransferAnswer
}

/** How often this member gave leadership away because it stood still, and how often it did not take it then. */
export type SuccessionCounts = { readonly gaveWay: number; readonly declined: number }

/**
 * When this member gives leadership away, to whom, and whether it may be given it. A leader whose own threads
 * stand still leads nobody well.
 */
export class Succession {
  /** Only grow. */
  readonly counts = { gaveWay: 0, declined: 0 }
  /** What the log owes, and what the state machine owes. Told by the driver. */
  readonly writing = new Debt()
  readonly applying = new Debt()
  readonly #self: NodeId
  readonly #core: SuccessionCore
  readonly #stall: StallWatch
  readonly #handOver = new HandOver()

  constructor(self: NodeId, core: SuccessionCore, limits: StallLimits) {
    this.#self = self
    this.#core = core
    this.#stall = new StallWatch(limits)
  }

  tick(now: number): void {
    if (this.#core.leader !== this.#self) return
    const owed = this.#owed()
    if (this.#stall.stalled(now, owed) && !this.#handOver.underWay && this.#helps(owed)) {
      this.#stall.gaveWay(now)
      this.counts.gaveWay++
      this.#handOver.begin(Number.POSITIVE_INFINITY, 'once')
    }
    this.#offer(now)
  }

  /** Hands leadership to whoever takes it, for at most `forMs`. */
  handOver(now: number, forMs: number): void {
    this.#handOver.begin(now + forMs, 'again')
    this.#offer(now)
  }

  /** Who stands still does not take over: the leader offers it to the next. */
  mayTakeOver(now: number): boolean {
    const may = !standsStill(this.#owed(), now)
    if (!may) this.counts.declined++
    return may
  }

  /** Where the quorum waits for this disk too, nobody could be elected without it, and reads would stop as well. */
  #helps(owed: Owed): boolean {
    const status = this.#core.status()
    const electable =
      owed.writingSinceMs === null || status.commit > status.persistedIndex || othersWrite(status)
    return electable && healthiestSuccessor(status) !== null
  }

  #offer(now: number): void {
    if (!this.#handOver.underWay) return
    const successor = this.#handOver.next(now, this.#core.status())
    if (successor !== null) this.#core.transferLeadership(successor)
  }

  #owed(): Owed {
    return { writingSinceMs: this.writing.sinceMs, applyingSinceMs: this.applying.sinceMs }
  }
}
