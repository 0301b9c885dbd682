import type { ResignAnswer, TransferAnswer } from '../core/errors.ts'
import type { CoreStatus } from '../core/ready.ts'
import type { LogIndex, NodeId } from '../core/types.ts'
import { PendingTransfer } from './pending-transfer.ts'
import { StallTimer, ProgressDetector, standsStill, StallDetector } from './stall-detector.ts'
import type { Owed, StallLimits } from './stall-detector.ts'
import { commitsNothing, healthiestSuccessor, othersWrite } from '../protocol/consensus-status.ts'

/** The part of the core that leadership is handed on with. */
export interface TransferCore {
  readonly leader: NodeId | null
  readonly commit: LogIndex
  status(): CoreStatus
  transferLeadership(to: NodeId): TransferAnswer
  resign(): ResignAnswer
}

/**
 * When this member gives leadership away, to whom, and whether it may be given it. A leader whose
 * own threads stand still leads nobody well.
 */
export class LeadershipTransferPolicy {
  /** Only grow. */
  readonly counts = { gaveWay: 0, declined: 0, resigned: 0 }
  /** What the log owes, and what the state machine owes. Told by the driver. */
  readonly writing = new StallTimer()
  readonly applying = new StallTimer()
  readonly #self: NodeId
  readonly #core: TransferCore
  readonly #stall: StallDetector
  readonly #handOver = new PendingTransfer()
  readonly #commits = new ProgressDetector()
  /** What a reign owes the cluster: that something can be committed in it. */
  readonly #committing = new StallTimer()
  readonly #barren: StallDetector

  constructor(self: NodeId, core: TransferCore, limits: StallLimits) {
    this.#self = self
    this.#core = core
    this.#stall = new StallDetector(limits)
    this.#barren = new StallDetector(limits)
  }

  /** @param isUnserved see `SnapshotOutbox.isUnserved` */
  tick(now: number, isUnserved: (follower: NodeId) => boolean): void {
    if (this.#core.leader !== this.#self) return this.#committing.stop(now, false)
    const owed = this.#owed()
    this.#commits.look(now, this.#core.commit)
    if (this.#stall.stalled(now, owed) && !this.#handOver.underWay && this.#helps(now, owed)) {
      this.#stall.gaveWay(now)
      this.counts.gaveWay++
      this.#handOver.begin(Number.POSITIVE_INFINITY, 'once')
    }
    this.#offer(now)
    this.#leadUsefully(now, isUnserved)
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

  /**
   * Where the quorum waits for this disk too, nobody could be elected without it, and reads would
   * stop as well. That the others committed without it once says nothing of now: their disks may
   * stand still since.
   */
  #helps(now: number, owed: Owed): boolean {
    const status = this.#core.status()
    const commitWithout = status.commit > status.persistedIndex && this.#commits.movedLately(now)
    // Writes that are under way, and come back, are no disk that stands still.
    const diskWorks = !standsStill({ ...owed, applyingSinceMs: null }, now)
    const electable = diskWorks || commitWithout || othersWrite(status)
    return electable && healthiestSuccessor(status) !== null
  }

  /**
   * A leader that cannot open its state (it is not trusted, or the api thread stands still), and
   * whose followers in touch need one, commits nothing and answers no read, while they keep others
   * from being elected. It cannot know whether those are there: so it makes room for them, and
   * leads again when they did not take it. Nothing is lost by that.
   */
  #leadUsefully(now: number, isUnserved: (follower: NodeId) => boolean): void {
    if (commitsNothing(this.#core.status(), isUnserved)) this.#committing.start(now)
    else this.#committing.stop(now, false)
    if (!this.#barren.stalled(now, { writingSinceMs: null, applyingSinceMs: this.#committing.sinceMs }))
      return
    this.#barren.gaveWay(now)
    if (this.#core.resign().kind === 'accepted') this.counts.resigned++
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
