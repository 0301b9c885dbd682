import type { Brand } from '../../base/brand.ts'
import type { Entry, LogIndex, NodeId, SnapshotMeta, Term } from './types.ts'

/**
 * Identifies one ReadIndex round of one leader in one term. Unique within the leader's process and
 * never reused, so that a late acknowledgement cannot confirm a later round.
 */
export type ReadContext = Brand<number, 'ReadContext'>

type Addressed = { readonly from: NodeId; readonly to: NodeId; readonly term: Term }

/**
 * Promise in the response to the heartbeat sent at `sentMs`: for `promisedMs` (more than 0) after
 * this response, its sender helps no other member to become leader, except by a leadership
 * transfer.
 */
export type LeasePromise = { readonly sentMs: number; readonly promisedMs: number }

/**
 * The messages between the cores of members. Raft paper figure 2, thesis §3, §4.2.3, §6.4, §9.6.
 */
export type Message =
  /** Requests a pre-vote at `term`, the term of the possible campaign. No member's term changes. */
  | (Addressed & { readonly kind: 'pre-vote-request'; readonly lastIndex: LogIndex; readonly lastTerm: Term })
  | (Addressed & { readonly kind: 'pre-vote-response'; readonly granted: boolean })
  | (Addressed & {
      readonly kind: 'vote-request'
      readonly lastIndex: LogIndex
      readonly lastTerm: Term
      /** The leader requested this election (transfer), so a voter need not wait out its lease. */
      readonly transfer: boolean
    })
  | (Addressed & { readonly kind: 'vote-response'; readonly granted: boolean })
  | (Addressed & {
      readonly kind: 'append-request'
      /** The index before `entries`. */
      readonly previousIndex: LogIndex
      readonly previousTerm: Term
      /** Consecutive from `previousIndex + 1`; empty to probe or to send the commit index. */
      readonly entries: readonly Entry[]
      readonly commit: LogIndex
    })
  | (Addressed & {
      readonly kind: 'append-accepted'
      /** Durable on the follower up to this index. */ readonly index: LogIndex
    })
  | (Addressed & {
      readonly kind: 'append-refused'
      /** The `previousIndex` that did not match. */
      readonly index: LogIndex
      /** The last entry of the follower where the logs may still agree, and its term. */
      readonly hintIndex: LogIndex
      readonly hintTerm: Term
    })
  | (Addressed & {
      readonly kind: 'heartbeat'
      readonly commit: LogIndex
      readonly context: ReadContext | null
      /** On the leader's clock, in whole ms. Unset: the leader wants no lease. */
      readonly sentMs?: number
      /** The next heartbeat may come later than usual, see `quiet.ts`. */
      readonly quiet?: true
    })
  | (Addressed & {
      readonly kind: 'heartbeat-response'
      readonly context: ReadContext | null
      readonly promise?: LeasePromise
      /** The sender waits longer for the next heartbeat, see `quiet.ts`. */
      readonly quiet?: true
    })
  /**
   * The state itself is sent on a connection of its own. The core receives this message once the
   * whole state is staged.
   */
  | (Addressed & { readonly kind: 'snapshot'; readonly snapshot: SnapshotMeta })
  | (Addressed & { readonly kind: 'timeout-now' })

export type MessageKind = Message['kind']

export type MessageOf<Kind extends MessageKind> = Extract<Message, { readonly kind: Kind }>
