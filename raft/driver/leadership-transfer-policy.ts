import type { ResignAnswer, TransferAnswer } from '../core/errors.ts'
import type { CoreStatus } from '../core/ready.ts'
import type { LogIndex, NodeId } from '../core/types.ts'
import { PendingTransfer } from './pending-transfer.ts'
import { StallTimer, ProgressDetector, isStalled, StallDetector } from './stall-detector.ts'
import type { PendingWork, StallLimits } from './stall-detector.ts'
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
  readonly counts = { transferred: 0, declined: 0, resigned: 0 }
  /** What the log owes, and what the state machine owes. Told by the driver. */
  readonly writing = new StallTimer()
  readonly applying = new StallTimer()
  readonly #self: NodeId
  readonly #core: TransferCore
  readonly #stall: StallDetector
  readonly #pending = new PendingTransfer()
  readonly #commits = new ProgressDetector()
  /** What a reign owes the cluster: that something can be committed in it. */
  readonly #committing = new StallTimer()
  readonly #commitStall: StallDetector

  constructor(self: NodeId, core: TransferCore, limits: StallLimits) {
    this.#self = self
    this.#core = core
    this.#stall = new StallDetector(limits)
    this.#commitStall = new StallDetector(limits)
  }

  /** @param isUnserved see `SnapshotOutbox.isUnserved` */
  tick(now: number, isUnserved: (follower: NodeId) => boolean): void {
    if (this.#core.leader !== this.#self) return this.#committing.stop(now, false)
    const work = this.#pendingWork()
    this.#commits.update(now, this.#core.commit)
    if (this.#stall.stalled(now, work) && !this.#pending.underWay && this.#helps(now, work)) {
      this.#stall.noteAttempt(now)
      this.counts.transferred++
      this.#pending.begin(Number.POSITIVE_INFINITY, 'once')
    }
    this.#offer(now)
    this.#resignIfUseless(now, isUnserved)
  }

  /** Hands leadership to whoever takes it, for at most `forMs`. */
  transferAway(now: number, forMs: number): void {
    this.#pending.begin(now + forMs, 'again')
    this.#offer(now)
  }

  /** Who stands still does not take over: the leader offers it to the next. */
  mayTakeOver(now: number): boolean {
    const may = !isStalled(this.#pendingWork(), now)
    if (!may) this.counts.declined++
    return may
  }

  /**
   * Where the quorum waits for this disk too, nobody could be elected without it, and reads would
   * stop as well. That the others committed without it once says nothing of now: their disks may
   * stand still since.
   */
  #helps(now: number, work: PendingWork): boolean {
    const status = this.#core.status()
    const commitWithout = status.commit > status.persistedIndex && this.#commits.movedLately(now)
    // Writes that are under way, and come back, are no disk that stands still.
    const diskWorks = !isStalled({ ...work, applyingSinceMs: null }, now)
    const electable = diskWorks || commitWithout || othersWrite(status)
    return electable && healthiestSuccessor(status) !== null
  }

  /**
   * A leader that cannot open its state (it is not trusted, or the api thread stands still), and
   * whose followers in touch need one, commits nothing and answers no read, while they keep others
   * from being elected. It cannot know whether those are there: so it makes room for them, and
   * leads again when they did not take it. Nothing is lost by that.
   */
  #resignIfUseless(now: number, isUnserved: (follower: NodeId) => boolean): void {
    if (commitsNothing(this.#core.status(), isUnserved)) this.#committing.start(now)
    else this.#committing.stop(now, false)
    if (!this.#commitStall.stalled(now, { writingSinceMs: null, applyingSinceMs: this.#committing.sinceMs }))
      return
    this.#commitStall.noteAttempt(now)
    if (this.#core.resign().kind === 'accepted') this.counts.resigned++
  }

  #offer(now: number): void {
    if (!this.#pending.underWay) return
    const successor = this.#pending.next(now, this.#core.status())
    if (successor !== null) this.#core.transferLeadership(successor)
  }

  #pendingWork(): PendingWork {
    return { writingSinceMs: this.writing.sinceMs, applyingSinceMs: this.applying.sinceMs }
  }
}
