import type { CoreStatus } from './core/ready.ts'
import type { MemberChange } from './core/member-change.ts'
import type { Configuration, LogIndex, NodeId, Term } from './core/types.ts'
import type { TransferTold } from './ports.ts'

/**
 * What the api thread of a member may ask of consensus. The one implementation is `RaftNode`
 * (`raft/node/node.ts`); users of the library depend on this page only.
 */
export interface Consensus<Outcome> extends MembershipPort {
  /** Of the founded cluster that this member belongs to; null: it is not founded yet. */
  readonly clusterId: string | null
  /** As the raft thread last told; may be a turn old. */
  readonly status: ConsensusStatus
  /** Called on every change of `status`. @returns stops listening */
  onStatus(listener: (status: ConsensusStatus) => void): () => void
  /** Called after each batch was applied to memory, with the index reached. @returns stops listening */
  onApplied(listener: (applied: LogIndex) => void): () => void
  /**
   * Replicates `payload` and waits until this member applied it. Tries again by itself while it is
   * certain that the earlier try had and will have no effect.
   *
   * @param deadlineMs on the monotonic clock
   */
  propose(payload: Uint8Array, deadlineMs: number): Promise<Fate<Outcome>>
  /**
   * Resolves once this member's memory holds everything any member acknowledged before the call.
   * One ReadIndex round serves every caller that waits when it is sent.
   *
   * @param deadlineMs on the monotonic clock
   * @throws ConsensusFailure `timed-out`, `overloaded`, `stopped`
   */
  barrier(deadlineMs: number): Promise<LogIndex>
  /** Ways to read without waiting for a barrier. */
  readonly reads: ReadPort
  /**
   * Tells other members something about this one. Best effort: lost where a link is down or full.
   *
   * @param bytes at most `reportBytesMax`
   */
  report(to: NodeId | 'all', bytes: Uint8Array): void
  /** Called with what another member reported; of several at once only the latest. @returns stops listening */
  onReport(listener: (report: PeerReport) => void): () => void
  /**
   * Makes that member the leader. Any member may be asked. Refused at once where it would not take over soon.
   *
   * @throws ConsensusFailure `not-a-voter`, `target-silent`, `target-behind`, `target-declined`, `no-leader`,
   *   `overloaded`, `timed-out`
   */
  transferLeadership(to: NodeId, deadlineMs: number): Promise<void>
  /**
   * Hands leadership away if this member holds it (best effort until `deadlineMs`), then closes everything.
   * @throws ConsensusFailure `timed-out`: the log could not be closed
   */
  stop(deadlineMs: number): Promise<void>
}

/** What is known of this member's memory without asking anybody, and how more is found out. */
export interface ReadPort {
  /** In which this member is, as the raft thread last told. */
  readonly term: Term
  /** null: no barrier was ever passed here. */
  readonly freshness: Freshness | null
  /** Begins a barrier that nobody waits for, if none is under way. */
  probe(): void
  /** null: this member does not lead by a lease now. */
  lease(): LeaseRead | null
  /**
   * Resolves once memory holds everything up to `index`.
   *
   * @param deadlineMs on the monotonic clock
   * @throws ConsensusFailure `timed-out`, `overloaded`, `stopped`
   */
  reached(index: LogIndex, deadlineMs: number): Promise<void>
  /** Whether this member shall hold a lease when it leads: as the replicated settings say. */
  useLease(wanted: boolean): void
}

/**
 * Memory holds everything that any member acknowledged up to `asOfMs`: when the latest round was sent that a quorum confirmed and
 * whose index is applied. No clock but this member's has a part in it.
 */
export type Freshness = {
  /** On the monotonic clock, as is the next. */
  readonly asOfMs: number
  /** When the confirmation came; the rest of the wait was for entries to be applied. */
  readonly confirmedMs: number
}

/** A read that asks nobody. */
export type LeaseRead = {
  /** Everything acknowledged before the read began is within it: wait until that is applied. */
  readonly index: LogIndex
  /**
   * Whether the lease held all the while. To be asked once the value is fixed, as this process may have stood still: when it
   * did not, the value may be old, and a barrier is needed.
   */
  readonly holds: () => boolean
}

/** What a change of the members came to. */
export type MembersChanged = {
  /** In force and decided; it may be newer than the change. */
  readonly configuration: Configuration
  /** Of its entry, or a later one: a member that applied this knows of the change. */
  readonly index: LogIndex
}

/** The part of consensus that decides who belongs to it. Any member may be asked; the leader does it. */
export interface MembershipPort {
  /**
   * Makes one change and resolves once it is decided: of `add` the learner's entry, else the configuration that is not
   * joint any more. What is so already resolves too, so a call whose answer was lost is repeated without harm.
   *
   * @param deadlineMs on the monotonic clock; when it comes first the change may still be made
   * @throws ConsensusFailure `timed-out`, `overloaded`, `stopped`; MembershipFailure: it is not made, nothing changed
   */
  changeMembers(change: MemberChange, deadlineMs: number): Promise<MembersChanged>
}

export type PeerReport = { readonly from: NodeId; readonly bytes: Uint8Array }

export type Fate<Outcome> =
  | { readonly kind: 'applied'; readonly index: LogIndex; readonly outcome: Outcome }
  /** Certainly without effect, now and later. */
  | {
      readonly kind: 'not-applied'
      /** `unreadable`: the leader cannot decode the command, as it runs another version of the program. */
      readonly reason: 'no-leader' | 'overloaded' | 'stopped' | 'too-large' | 'unreadable'
    }
  /** The deadline came first. It may still take effect. */
  | { readonly kind: 'unknown' }

export type ConsensusStatus = CoreStatus & {
  readonly appliedMemory: LogIndex
  readonly appliedDisk: LogIndex
  /**
   * Monotonic ms at which this member last had proof of a quorum: as leader a check-quorum, as follower
   * a word of the present leader. null before the first.
   */
  readonly quorumContactMs: number | null
  /** Why this member belongs to the cluster no more, in one line; null: it does. */
  readonly removed: string | null
}

export type ConsensusFailureCode = 'timed-out' | 'overloaded' | 'stopped' | 'no-leader' | TransferTold
