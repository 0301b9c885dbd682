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
   * The lowest index of a snapshot that may replace a quarantined state, even if the log reaches
   * further; null: none is requested.
   */
  readonly stateWanted: LogIndex | null
  post(message: RaftToApi): void
  /** Requests a turn, and so a call of `flush`. */
  wake(): void
  /**
   * Returns why `message` is impossible, and closes the link of its sender then; null: it is
   * possible.
   */
  violation(message: Message & { readonly kind: 'snapshot' }): string | null
  /**
   * Passes the message to the core: its snapshot is staged and verified, or not needed, because the
   * log already reaches that far. Called in a turn.
   */
  passToCore(message: Message & { readonly kind: 'snapshot' }): void
  /**
   * Makes the log begin after the staged snapshot, if the log has everything up to that snapshot.
   * `install` follows once that is durable. Called in a turn.
   *
   * @returns `later`: not yet, retry in the next turn; `never`: the log already begins after the
   *   snapshot
   */
  beginLogAfter(snapshot: SnapshotMeta): 'begun' | 'later' | 'never'
}

export type SnapshotInboxLimits = {
  /** Limit of the chunks that were handed to the api thread and are not acknowledged yet. */
  readonly windowChunks: number
}

/**
 * Receives snapshots: one stream at a time, and none while a received snapshot waits for the core
 * or the log, or is being installed. A waiting repair is replaced by one of a later leader. A
 * refused sender retries.
 */
export class SnapshotInbox {
  readonly #dependencies: SnapshotInboxDependencies
  readonly #limits: SnapshotInboxLimits
  #stream: Stream | null = null
  #nextStream = 1
  /**
   * `staged`: received completely and verified; neither the core nor the log has accepted it yet.
   * `taken`: the core accepted it, or the log is made to begin after it. It waits for that to be
   * durable, then for the installation.
   */
  #state: 'free' | 'staged' | 'taken' = 'free'
  /**
   * The message of the staged snapshot until the next turn, which passes it to the core unless the
   * log has overtaken the snapshot.
   */
  #offered: (Message & { readonly kind: 'snapshot' }) | null = null
  /**
   * The message for a snapshot that this member does not need, because its log already reaches that
   * far: the core answers with its own index. Only the latest is kept.
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
    if (this.#state !== 'free' && !this.#mayReplaceRepair(header))
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
   * of the stream: an error of the core must end this thread, but the handler of the stream would
   * report it as a refusal.
   */
  flush(): void {
    const offered = this.#offered
    this.#offered = null
    // A staged snapshot that the log has overtaken is not for the core; see `turnEnded`.
    if (offered !== null && offered.snapshot.index > this.#dependencies.commit)
      this.#dependencies.passToCore(offered)
    const unneeded = this.#unneeded
    this.#unneeded = null
    if (unneeded !== null && unneeded.snapshot.index <= this.#dependencies.commit)
      this.#dependencies.passToCore(unneeded)
  }

  /** Returns whether the log begins, or will begin, after a snapshot that is not installed yet. */
  get isInstalling(): boolean {
    return this.#state === 'taken'
  }

  /**
   * The log entries that follow a requested snapshot. They are needed from the opening of its
   * stream until the log begins after the snapshot; null: there is no such snapshot.
   */
  get logNeed(): LogNeed | null {
    const [repair, stream] = [this.#repair, this.#stream]
    const need = (from: LogIndex, bytes: number): LogNeed => ({
      from,
      stateBytes: Math.max(bytes, repairLogBytesMin),
    })
    if (repair !== null) return need(repair.snapshot.index, repair.bytes)
    return stream === null || stream.repairs === null ? null : need(stream.repairs, stream.bytes)
  }

  /** Records that the core replaces the log by the staged snapshot. */
  taken(): void {
    this.#state = 'taken'
    this.#repair = null
  }

  /**
   * Runs at the end of a turn. A snapshot that the core has not taken is not needed, unless it is a
   * repair: then the log is made to begin after it.
   */
  turnEnded(): void {
    if (this.#state !== 'staged' || this.#offered !== null) return
    const answer = this.#repair === null ? 'never' : this.#dependencies.beginLogAfter(this.#repair.snapshot)
    if (answer === 'later') return
    this.#state = answer === 'begun' ? 'taken' : 'free'
    this.#repair = null
  }

  /** Has the api thread install the snapshot, with which the log durably begins. */
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
   * Returns whether a new stream may replace the staged repair: its sender leads a later term. The
   * repair waits for entries that possibly only the log of its own sender has. If the log of a
   * later leader begins after them, that leader has to send its own state.
   */
  #mayReplaceRepair({ term }: SnapshotHeader): boolean {
    const waits = this.#state === 'staged' && this.#offered === null
    return waits && this.#repair !== null && term > this.#repair.term
  }

  #checkWanted({ purpose, snapshot, from, to, term }: SnapshotHeader): void {
    const { commit, stateWanted } = this.#dependencies
    if (purpose === 'catch-up') {
      if (snapshot.index > commit) return
      // The leader may have missed the acknowledgement of this member, and compacted the entries
      // since. Then neither its log nor a snapshot that is always refused would help, so the core
      // repeats the acknowledgement.
      this.#unneeded = { kind: 'snapshot', from, to, term, snapshot }
      this.#dependencies.wake()
      throw new Error('this member does not need a snapshot')
    } else if (stateWanted === null || snapshot.index < stateWanted) {
      throw new Error('this member did not request a snapshot')
    }
  }

  /**
   * Aborts the current stream if the new one is of the same sender or of a later term: then the
   * current one has been abandoned. Otherwise refuses the new one.
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
    // The window is full: continue when the oldest of its chunks is acknowledged.
    if (stream.answers.length < this.#limits.windowChunks) return
    await (stream.answers[0]?.promise ?? taken)
  }

  async #finish(stream: Stream, header: SnapshotHeader): Promise<void> {
    this.#check(stream)
    const done = this.#answer(stream)
    this.#dependencies.post({ kind: 'sink-finish', stream: stream.id })
    try {
      await done
      // Another stream may have replaced this one in the meantime.
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

/** A staged snapshot that was requested, with the term of its sender and its size in bytes. */
type Repair = { readonly snapshot: SnapshotMeta; readonly term: Term; readonly bytes: number }

type Stream = {
  readonly id: number
  readonly from: NodeId
  readonly term: Term
  /** The index of a requested snapshot; null: it was not requested. */
  readonly repairs: LogIndex | null
  /** Bytes received so far. */
  bytes: number
  /** One item for each message to the api thread that waits for its answer, in order. */
  readonly answers: Deferred<void>[]
  failed?: Error
}
