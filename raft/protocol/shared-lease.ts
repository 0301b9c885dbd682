import type { LogIndex, Term } from '../core/types.ts'

/**
 * The lease in memory that the raft thread writes and the api thread reads. It is shared because
 * the lease must be revoked before a message that transfers leadership is sent, and a channel
 * message could be processed too late.
 *
 * Each field is written atomically, in a fixed order: a reader that sees a term also sees the
 * commit index that was written before that term, or a later one.
 */
export class SharedLease {
  readonly #fields: BigInt64Array

  /** @param buffer the buffer of the other thread's `SharedLease`; unset: a new one */
  constructor(buffer: SharedArrayBuffer = new SharedArrayBuffer(bytes)) {
    this.#fields = new BigInt64Array(buffer)
  }

  /** The buffer to be passed to the other thread. */
  get buffer(): SharedArrayBuffer {
    const { buffer } = this.#fields
    return buffer as SharedArrayBuffer
  }

  /**
   * Stores the lease. Called by the raft thread before it sends the messages of a `Ready`, and at
   * the end of a turn.
   *
   * @param untilMs on the clock of the api thread
   */
  publish(term: Term, commit: LogIndex, untilMs: number): void {
    if (this.term !== term) this.revoke()
    this.#store(at.commit, commit)
    this.#store(at.term, term)
    this.#store(at.untilUs, Math.floor(untilMs * 1000))
  }

  /** Ends the lease for readers at once. */
  revoke(): void {
    this.#store(at.untilUs, 0)
  }

  get term(): number {
    return this.#load(at.term)
  }

  get commit(): LogIndex {
    return this.#load(at.commit) as LogIndex
  }

  /** 0: there is no lease. */
  get untilMs(): number {
    return this.#load(at.untilUs) / 1000
  }

  #store(field: number, value: number): void {
    Atomics.store(this.#fields, field, BigInt(value))
  }

  #load(field: number): number {
    return Number(Atomics.load(this.#fields, field))
  }
}

const at = { untilUs: 0, term: 1, commit: 2 } as const
const bytes = 3 * BigInt64Array.BYTES_PER_ELEMENT
