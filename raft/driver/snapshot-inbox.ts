import { Deferred } from '../../base/deferred.ts'
import type { Message } from '../core/message.ts'
import type { LogIndex, NodeId, SnapshotMeta, Term } from '../core/types.ts'
import type { SnapshotHeader, SnapshotSink } from '../ports.ts'
import { repairLogBytesMin } from './log-needs.ts'
import type { LogNeed } from './log-needs.ts'
import type { RaftToApi, SnapshotInAnswer } from '../protocol/thread-messages.ts'

/** The driver, as the inbox uses it. */
export interface SnapshotInboxDependencies {
  readonly self: NodeId
  readonly commit: LogIndex
  /**
   * The lowest index of a snapshot that may replace a quarantined state, whatever the log holds.
   */
  readonly stateWanted: LogIndex | null
  post(message: RaftToApi): void
  /** Requests a turn, and so a call of `flush`. */
  wake(): void
  /**
   * Returns why the core will never accept `message`, and counts it against its sender; null: it
   * may.
   */
  violation(message: Message & { readonly kind: 'snapshot' }): string | null
  /**
   * The snapshot is staged and verified, or the log already holds it: the core may take the
   * message. Called in a turn.
   */
  staged(message: Message & { readonly kind: 'snapshot' }): void
  /**
   * Makes the log begin after the staged snapshot, if the log has everything up to that snapshot.
   * `install` follows once that is durable. Called in a turn.
   *
   * @returns `later`: not yet, retry in the next turn; `never`: the log already begins after it
   */
  beginLogAfter(snapshot: SnapshotMeta): 'begun' | 'later' | 'never'
}

export type SnapshotInboxLimits = {
  /** Chunks handed to the api thread and not acknowledged yet. */
  readonly windowChunks: number
}

/**
 * Receives snapshots: one at a time, and none while an accepted one is being installed. A refused
 * sender retries.
 */
export class SnapshotInbox {
  readonly #dependencies: SnapshotInboxDependencies
  readonly #limits: SnapshotInboxLimits
  #stream: Stream | null = null
  #nextStream = 1
  /**
   * `staged`: offered to the core. `taken`: accepted by the core; it waits for the log, then for
   * the installation.
   */
  #state: 'free' | 'staged' | 'taken' = 'free'
  /** The snapshot message that is passed to the core in the next turn. */
  #offered: (Message & { readonly kind: 'snapshot' }) | null = null
  /**
   * The message of a leader that assumes this member lags behind this snapshot: the core answers
   * with its own index. Only the latest is kept.
   */
  #unneeded: (Message & { readonly kind: 'snapshot' }) | null = null
  /** A staged snapshot that this member requested: installed even if the log goes beyond it. */
  #repair: Repair | null = null

  constructor(dependencies: SnapshotInboxDependencies, limits: SnapshotInboxLimits) {
    this.#dependencies = dependencies
    this.#limits = limits
  }

  async receive(header: SnapshotHeader): Promise<SnapshotSink> {
    if (header.to !== this.#dependencies.self) throw new Error('this snapshot is for another member')
    const { from, to, term, snapshot } = header
    const violation = this.#dependencies.violation({ kind: 'snapshot', from, to, term, snapshot })
    if (violation !== null) throw new Error(violation)
    if (this.#state !== 'free' && !this.#isOutdated(header))
      throw new Error('another snapshot is being installed')
    this.#supersede(header)
    this.#checkWanted(header)
    this.#state = 'free'
    this.#repair = null
    const { purpose, snapshot: sent } = header
    const repairs = purpose === 'repair' ? sent.index : null
    const stream: Stream = { id: this.#nextStream++, from, term, repairs, bytes: 0, answers: [] }
    this.#stream = stream
    this.#dependencies.post({ kind: 'sink-open', stream: stream.id, snapshot: header.snapshot })
    try {
      await this.#answer(stream)
    } catch (cause) {
      this.#forget(stream)
      throw cause
    }
    return {
      chunk: (bytes) => this.#chunk(stream, bytes),
      finish: () => this.#finish(stream, header),
      abort: (cause) => this.#abort(stream, cause),
    }
  }

  take(answer: SnapshotInAnswer): void {
    const stream = this.#stream
    if (stream === null || stream.id !== answer.stream) return
    const waiting = stream.answers.shift()
    if (answer.kind === 'sink-taken') {
      waiting?.resolve(undefined)
      return
    }
    const failure = new Error(answer.cause)
    stream.failed = failure
    waiting?.reject(failure)
    for (const later of stream.answers.splice(0)) later.reject(failure)
  }

  /**
   * Runs with the inputs of a turn. A staged snapshot is passed to the core here and not at the end
   * of the stream: an assertion in the core must end this thread, and the stream's handler would
   * report it as a refusal.
   */
  flush(): void {
    const offered = this.#offered
    this.#offered = null
    // A staged snapshot that the log has overtaken is not for the core; see `turnEnded`.
    if (offered !== null && offered.snapshot.index > this.#dependencies.commit)
      this.#dependencies.staged(offered)
    const unneeded = this.#unneeded
    this.#unneeded = null
    if (unneeded !== null && unneeded.snapshot.index <= this.#dependencies.commit)
      this.#dependencies.staged(unneeded)
  }

  /** Returns whether the log names, or is about to name, a snapshot that is not installed yet. */
  get isInstalling(): boolean {
    return this.#state === 'taken'
  }

  /** The log after a requested snapshot is kept from its first chunk until it is taken. */
  get logNeed(): LogNeed | null {
    const [repair, stream] = [this.#repair, this.#stream]
    const need = (from: LogIndex, bytes: number): LogNeed => ({
      from,
      stateBytes: Math.max(bytes, repairLogBytesMin),
    })
    if (repair !== null) return need(repair.snapshot.index, repair.bytes)
    return stream === null || stream.repairs === null ? null : need(stream.repairs, stream.bytes)
  }

  /** The core replaces the log by the staged snapshot. */
  taken(): void {
    this.#state = 'taken'
    this.#repair = null
  }

  /**
   * Runs at the end of a turn: a snapshot that the core did not take by now is not needed. The next
   * one replaces it.
   */
  turnEnded(): void {
    if (this.#state !== 'staged' || this.#offered !== null) return
    const answer = this.#repair === null ? 'never' : this.#dependencies.beginLogAfter(this.#repair.snapshot)
    if (answer === 'later') return
    this.#state = answer === 'begun' ? 'taken' : 'free'
    this.#repair = null
  }

  /** The log durably names the snapshot; the api thread installs it. */
  install(snapshot: SnapshotMeta): void {
    this.#dependencies.post({ kind: 'install', snapshot })
  }

  installed(): void {
    this.#state = 'free'
  }

  close(): void {
    for (const waiting of this.#stream?.answers.splice(0) ?? []) waiting.reject(new Error('stopping'))
    this.#stream = null
  }

  /**
   * Returns whether the sender belongs to a later term than the staged repair. That repair waits
   * for entries that only the log of its own leader may have had. A later leader whose log begins
   * after them has to send its own state.
   */
  #isOutdated({ term }: SnapshotHeader): boolean {
    const waits = this.#state === 'staged' && this.#offered === null
    return waits && this.#repair !== null && term > this.#repair.term
  }

  #checkWanted({ purpose, snapshot, from, to, term }: SnapshotHeader): void {
    const { commit, stateWanted } = this.#dependencies
    if (purpose === 'catch-up') {
      if (snapshot.index > commit) return
      // The acknowledgement of this member may have been lost, and the entries compacted from the
      // leader's log since. Then neither the log nor a snapshot that is always refused would help.
      this.#unneeded = { kind: 'snapshot', from, to, term, snapshot }
      this.#dependencies.wake()
      throw new Error('this member does not need a snapshot')
    } else if (stateWanted === null || snapshot.index < stateWanted) {
      throw new Error('this member did not request a snapshot')
    }
  }

  /**
   * A new stream of the same sender, or of a later term, means that the previous one has been
   * abandoned.
   */
  #supersede(header: SnapshotHeader): void {
    const stream = this.#stream
    if (stream === null) return
    if (header.from !== stream.from && header.term <= stream.term) {
      throw new Error('another snapshot is being received')
    }
    const cause = new Error('a newer stream replaced it')
    this.#abort(stream, cause)
    for (const waiting of stream.answers.splice(0)) waiting.reject(cause)
  }

  async #chunk(stream: Stream, bytes: Uint8Array): Promise<void> {
    this.#check(stream)
    stream.bytes += bytes.byteLength
    const taken = this.#answer(stream)
    this.#dependencies.post({ kind: 'sink-chunk', stream: stream.id, bytes })
    // The window: continue when the oldest of its chunks is acknowledged.
    if (stream.answers.length < this.#limits.windowChunks) return
    await (stream.answers[0]?.promise ?? taken)
  }

  async #finish(stream: Stream, header: SnapshotHeader): Promise<void> {
    this.#check(stream)
    const done = this.#answer(stream)
    this.#dependencies.post({ kind: 'sink-finish', stream: stream.id })
    try {
      await done
      // Another stream may have taken its place in the meantime.
      this.#check(stream)
    } finally {
      this.#forget(stream)
    }
    const { from, to, term, snapshot } = header
    this.#state = 'staged'
    this.#repair = header.purpose === 'repair' ? { snapshot, term, bytes: stream.bytes } : null
    this.#offered = { kind: 'snapshot', from, to, term, snapshot }
    this.#dependencies.wake()
  }

  #abort(stream: Stream, cause: unknown): void {
    if (this.#stream !== stream) return
    this.#forget(stream)
    const text = cause instanceof Error ? cause.message : 'the stream broke'
    this.#dependencies.post({ kind: 'sink-abort', stream: stream.id, cause: text })
  }

  #answer(stream: Stream): Promise<void> {
    const waiting = new Deferred<void>()
    stream.answers.push(waiting)
    return waiting.promise
  }

  #check(stream: Stream): void {
    if (stream.failed !== undefined) throw stream.failed
    if (this.#stream !== stream) throw new Error('the stream was aborted')
  }

  #forget(stream: Stream): void {
    if (this.#stream === stream) this.#stream = null
  }
}

/** A staged snapshot with the term of its sender. */
type Repair = { readonly snapshot: SnapshotMeta; readonly term: Term; readonly bytes: number }

type Stream = {
  readonly id: number
  readonly from: NodeId
  readonly term: Term
  /** The index of a requested snapshot; null: it was not requested. */
  readonly repairs: LogIndex | null
  /** Received so far. */
  bytes: number
  /** One for each message that waits for its answer, in order. */
  readonly answers: Deferred<void>[]
  failed?: Error
}
