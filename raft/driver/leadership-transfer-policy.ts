import type { ResignAnswer, TransferAnswer } from '../core/errors.ts'
import type { CoreStatus } from '../core/ready.ts'
import type { LogIndex, NodeId } from '../core/types.ts'
import { PendingTransfer } from './pending-transfer.ts'
import { StallTimer, ProgressDetector, isStalled, mayStall, StallDetector } from './stall-detector.ts'
import type { PendingWork, StallLimits } from './stall-detector.ts'
import { commitsNothing, healthiestSuccessor, othersWrite } from '../protocol/consensus-status.ts'

/** The part of the core that leadership transfer needs. */
export interface TransferCore {
  readonly leader: NodeId | null
  readonly commit: LogIndex
  status(): CoreStatus
  transferLeadership(to: NodeId): TransferAnswer
  resign(): ResignAnswer
}

/**
 * Decides when this member transfers leadership, to which voter, and whether it accepts leadership.
 * A leader whose own threads are stalled should not lead.
 */
export class LeadershipTransferPolicy {
  /** Counters that only grow. */
  readonly counts = { transferred: 0, declined: 0, resigned: 0 }
  /**
   * Timers of the log and of the state machine, which the driver starts and stops.
   */
  readonly writing = new StallTimer()
  readonly applying = new StallTimer()
  readonly #self: NodeId
  readonly #core: TransferCore
  readonly #stall: StallDetector
  readonly #pending = new PendingTransfer()
  readonly #commits = new ProgressDetector()
  /** Runs while this leader cannot commit anything. */
  readonly #committing = new StallTimer()
  readonly #commitStall: StallDetector

  constructor(self: NodeId, core: TransferCore, limits: StallLimits) {
    this.#self = self
    this.#core = core
    this.#stall = new StallDetector(limits)
    this.#commitStall = new StallDetector(limits)
  }

  /**
   * Whether this member leads, and may soon be stalled or commits nothing. The driver then calls
   * `tick` more often.
   */
  mayStall(now: number): boolean {
    if (this.#core.leader !== this.#self) return false
    return mayStall(this.#pendingWork(), now) || this.#committing.sinceMs !== null
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

  /** Tries for at most `forMs` to transfer leadership to any voter that takes it. */
  transferAway(now: number, forMs: number): void {
    this.#pending.begin(now + forMs, 'again')
    this.#offer(now)
  }

  /**
   * Returns whether this member accepts leadership. A stalled member declines, and the leader tries
   * the next voter.
   */
  mayTakeOver(now: number): boolean {
    const may = !isStalled(this.#pendingWork(), now)
    if (!may) this.counts.declined++
    return may
  }

  /**
   * Returns whether a transfer would help. If every quorum needs the disk of this member, no other
   * member could be elected while the disk is stalled, and reads would stop as well. So the others
   * must have committed without it lately, or have written everything that they were sent.
   */
  #helps(now: number, work: PendingWork): boolean {
    const status = this.#core.status()
    const othersCommit = status.commit > status.persistedIndex && this.#commits.movedLately(now)
    // A disk that completes some writes is slow, not stalled.
    const diskWorks = !isStalled({ ...work, applyingSinceMs: null }, now)
    const electable = diskWorks || othersCommit || othersWrite(status)
    return electable && healthiestSuccessor(status) !== null
  }

  /**
   * Resigns when this leader commits nothing for too long. A leader that cannot produce a snapshot
   * (its state is quarantined, or its api thread is stalled) while followers in contact need one
   * commits nothing; yet its heartbeats keep these followers from electing another member. This
   * leader does not know whether another member could be elected, so it resigns, and campaigns
   * again if no other took over. That is safe, because it could not commit anything anyway.
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
