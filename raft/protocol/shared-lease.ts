import type { LogIndex, Term } from '../core/types.ts'

/**
 * Where the raft thread says whether this member leads by a lease, and the api thread looks: memory
 * that both share, as a lease must be gone everywhere before the word leaves that gives it away,
 * and a message may be read late.
 *
 * Each field is written whole, and in an order: a reader that saw a term sees no older commit index
 * than the one that was written before it.
 */
export class SharedLease {
  readonly #fields: BigInt64Array

  /** @param buffer that of the other thread's `SharedLease`; unset: a new one */
  constructor(buffer: SharedArrayBuffer = new SharedArrayBuffer(bytes)) {
    this.#fields = new BigInt64Array(buffer)
  }

  /** For the other thread. */
  get buffer(): SharedArrayBuffer {
    const { buffer } = this.#fields
    return buffer as SharedArrayBuffer
  }

  /**
   * The raft thread, before it sends anything of this turn.
   *
   * @param untilMs on the clock of the api thread
   */
  publish(term: Term, commit: LogIndex, untilMs: number): void {
    if (this.term !== term) this.revoke()
    this.#store(at.commit, commit)
    this.#store(at.term, term)
    this.#store(at.untilUs, Math.floor(untilMs * 1000))
  }

  /** Nobody reads by it any more. */
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
