import type { Entry, LogIndex, SnapshotMeta } from './core/types.ts'

/** The interface of the replicated state machine. It runs on the api thread. */
export interface StateMachine<Outcome> {
  /** Everything up to here is in memory. */
  readonly appliedMemory: LogIndex
  /** Everything up to here is durable in the local database; the log may be compacted up to it. */
  readonly appliedDisk: SnapshotMeta
  /**
   * Applies committed entries to memory, in order, each exactly once, without awaiting. A command's
   * data is an envelope (see `raft/protocol/envelope.ts`).
   * @returns the outcome of each command of `session`, for its waiting proposer
   */
  apply(entries: readonly Entry[], session: number): readonly SettledProposal<Outcome>[]
  /**
   * Bytes that may still be applied before the database must catch up. At or below 0 nothing is
   * applied until `onCapacity`.
   */
  readonly capacity: number
  /** Calls `wake` whenever bytes may be applied again. Set once. */
  onCapacity(wake: () => void): void
  /** The log is durable up to here on this member's disk; the database never passes this index. */
  logPersisted(index: LogIndex): void
  /**
   * The lowest index of the snapshot that has to replace the quarantined state; nothing is applied
   * until it is installed. null: not quarantined, or backing off before the next request.
   */
  readonly wanted: LogIndex | null
  /**
   * There is no usable state until that of another member is installed. A full log may then be
   * compacted beyond the old state.
   */
  readonly isQuarantined: boolean
  /**
   * Quarantines the state: applying the log cannot repair it, so it has to be replaced by the state
   * of another member at index `atLeast` or later.
   *
   * @param reason one line
   */
  quarantineState(reason: string, atLeast: LogIndex): void
  /**
   * Returns a consistent copy of the durable state, to be streamed to a peer.
   *
   * @param atLeast the lowest index that the state may have, else the call fails; null: any
   */
  produceSnapshot(atLeast: LogIndex | null): Promise<SnapshotSource>
  /** Begins to receive the state of another member, next to the live state. */
  stageSnapshot(snapshot: SnapshotMeta): Promise<SnapshotSink>
  /** Makes the staged state the state, once the log record that names it is durable. */
  installSnapshot(snapshot: SnapshotMeta): Promise<void>
}

export interface SnapshotSource {
  readonly snapshot: SnapshotMeta
  /** @returns null at the end */
  next(): Promise<Uint8Array | null>
  close(): Promise<void>
}

export type SettledProposal<Outcome> = {
  readonly sequence: number
  readonly index: LogIndex
  /**
   * `void`: the term of the entry is not the one that the command was proposed for, so the entry
   * certainly has no effect, and the command may be proposed again.
   */
  readonly result: { readonly kind: 'applied'; readonly outcome: Outcome } | { readonly kind: 'void' }
}

/** Takes one incoming snapshot. Exactly one of `finish` and `abort` is called, once. */
export interface SnapshotSink {
  chunk(bytes: Uint8Array): Promise<void>
  /**
   * All chunks were passed. Resolves once the snapshot is verified and staged; it is installed
   * later, see `StateMachine.installSnapshot`.
   */
  finish(): Promise<void>
  abort(cause: unknown): void
}
