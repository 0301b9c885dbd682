import { Deferred } from '../../base/deferred.ts'
import type { Message } from '../core/message.ts'
import type { LogIndex, NodeId, SnapshotMeta, Term } from '../core/types.ts'
import type { SnapshotHeader, SnapshotSink } from '../ports.ts'
import { repairLogBytesMin } from './log-needs.ts'
import type { LogNeed } from './log-needs.ts'
import type { RaftToApi, SnapshotInAnswer } from '../protocol/thread-messages.ts'

/** What the inbox asks of the driver. */
export interface SnapshotInboxNeeds {
  readonly self: NodeId
  readonly commit: LogIndex
  /**
   * From where on a state is welcome whatever the log holds, to replace one that is not to be
   * trusted.
   */
  readonly stateWanted: LogIndex | null
  post(message: RaftToApi): void
  /** Asks for a turn, and so for `flush`. */
  wake(): void
  /**
   * Why the core will never take `message`, which is then counted against its sender; null: it may.
   */
  violation(message: Message & { readonly kind: 'snapshot' }): string | null
  /**
   * All of it is staged and verified, or the log has it already: the core may take it. Called in a
   * turn.
   */
  staged(message: Message & { readonly kind: 'snapshot' }): void
  /**
   * The log has all of the staged state and keeps what follows: it is to begin behind it. `install`
   * follows once that is durable. Called in a turn.
   *
   * @returns `later`: not yet, ask again next turn; `never`: the log begins behind it already
   */
  beginLogBehind(snapshot: SnapshotMeta): 'begun' | 'later' | 'never'
}

export type SnapshotInboxLimits = {
  /** Chunks handed to the api thread and not yet taken. */
  readonly windowChunks: number
}

/**
 * Snapshots on their way in: one at a time, and none while one that the core took is being
 * installed. A refused sender comes again.
 */
export class SnapshotInbox {
  readonly #needs: SnapshotInboxNeeds
  readonly #limits: SnapshotInboxLimits
  #stream: Stream | null = null
  #nextStream = 1
  /**
   * `staged`: offered to the core. `taken`: the core took it; it waits for the log, then for the
   * installation.
   */
  #state: 'free' | 'staged' | 'taken' = 'free'
  /** Waits for the turn in which the core hears of it. */
  #offered: (Message & { readonly kind: 'snapshot' }) | null = null
  /**
   * A leader takes this member for one that lags behind this state: the core tells it how far it
   * is. The latest counts.
   */
  #unneeded: (Message & { readonly kind: 'snapshot' }) | null = null
  /** Staged, for a member that asked for it: taken even if the log is further. */
  #repair: Repair | null = null

  constructor(needs: SnapshotInboxNeeds, limits: SnapshotInboxLimits) {
    this.#needs = needs
    this.#limits = limits
  }

  async receive(header: SnapshotHeader): Promise<SnapshotSink> {
    if (header.to !== this.#needs.self) throw new Error('this snapshot is for another member')
    const { from, to, term, snapshot } = header
    const violation = this.#needs.violation({ kind: 'snapshot', from, to, term, snapshot })
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
    this.#needs.post({ kind: 'sink-open', stream: stream.id, snapshot: header.snapshot })
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
   * A turn's inputs. The core hears of a staged state here and not where the stream ends: what it
   * finds broken must end this thread, and whoever serves the stream would take it for a refusal.
   */
  flush(): void {
    const offered = this.#offered
    this.#offered = null
    // A repair that the log has overtaken is none of the core's business.
    if (offered !== null && offered.snapshot.index > this.#needs.commit) this.#needs.staged(offered)
    const unneeded = this.#unneeded
    this.#unneeded = null
    if (unneeded !== null && unneeded.snapshot.index <= this.#needs.commit) this.#needs.staged(unneeded)
  }

  /** The log names a state, or is being told to, that is not the live one yet. */
  get isInstalling(): boolean {
    return this.#state === 'taken'
  }

  /**
   * The log behind a state that was asked for is kept while it is received, and until it is taken.
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

  /** The core named the staged state in a write: it replaces the log. */
  taken(): void {
    this.#state = 'taken'
    this.#repair = null
  }

  /**
   * A turn ended: what the core did not take by now it has no use for. The next snapshot replaces
   * it.
   */
  turnEnded(): void {
    if (this.#state !== 'staged' || this.#offered !== null) return
    const answer = this.#repair === null ? 'never' : this.#needs.beginLogBehind(this.#repair.snapshot)
    if (answer === 'later') return
    this.#state = answer === 'begun' ? 'taken' : 'free'
    this.#repair = null
  }

  /** The log names it durably; the api thread makes it the live state. */
  install(snapshot: SnapshotMeta): void {
    this.#needs.post({ kind: 'install', snapshot })
  }

  installed(): void {
    this.#state = 'free'
  }

  close(): void {
    for (const waiting of this.#stream?.answers.splice(0) ?? []) waiting.reject(new Error('stopping'))
    this.#stream = null
  }

  /**
   * The staged repair waits for entries that only the log of its own leader may have had: a later
   * one, whose log begins behind them, has to send its state instead.
   */
  #isOutdated({ term }: SnapshotHeader): boolean {
    const waits = this.#state === 'staged' && this.#offered === null
    return waits && this.#repair !== null && term > this.#repair.term
  }

  #checkWanted({ purpose, snapshot, from, to, term }: SnapshotHeader): void {
    const { commit, stateWanted } = this.#needs
    if (purpose === 'catch-up') {
      if (snapshot.index > commit) return
      // What this member acknowledged may have been lost on the way, and cut from the leader's log
      // meanwhile: then neither would the log help, nor a state that is refused for ever.
      this.#unneeded = { kind: 'snapshot', from, to, term, snapshot }
      this.#needs.wake()
      throw new Error('this member is further than that')
    } else if (stateWanted === null || snapshot.index < stateWanted) {
      throw new Error('this member did not ask for that')
    }
  }

  /**
   * A sender that comes again has given its former stream up, and so has the leader of a former
   * term.
   */
  #supersede(header: SnapshotHeader): void {
    const stream = this.#stream
    if (stream === null) return
    if (header.from !== stream.from && header.term <= stream.term) {
      throw new Error('another snapshot is being received')
    }
    const cause = new Error('a newer stream took its place')
    this.#abort(stream, cause)
    for (const waiting of stream.answers.splice(0)) waiting.reject(cause)
  }

  async #chunk(stream: Stream, bytes: Uint8Array): Promise<void> {
    this.#check(stream)
    stream.bytes += bytes.byteLength
    const taken = this.#answer(stream)
    this.#needs.post({ kind: 'sink-chunk', stream: stream.id, bytes })
    // The window: go on while the oldest of so many chunks is taken.
    if (stream.answers.length < this.#limits.windowChunks) return
    await (stream.answers[0]?.promise ?? taken)
  }

  async #finish(stream: Stream, header: SnapshotHeader): Promise<void> {
    this.#check(stream)
    const done = this.#answer(stream)
    this.#needs.post({ kind: 'sink-finish', stream: stream.id })
    try {
      await done
      // Its place may have been taken while the answer was on its way here.
      this.#check(stream)
    } finally {
      this.#forget(stream)
    }
    const { from, to, term, snapshot } = header
    this.#state = 'staged'
    this.#repair = header.purpose === 'repair' ? { snapshot, term, bytes: stream.bytes } : null
    this.#offered = { kind: 'snapshot', from, to, term, snapshot }
    this.#needs.wake()
  }

  #abort(stream: Stream, cause: unknown): void {
    if (this.#stream !== stream) return
    this.#forget(stream)
    const text = cause instanceof Error ? cause.message : 'the stream broke'
    this.#needs.post({ kind: 'sink-abort', stream: stream.id, cause: text })
  }

  #answer(stream: Stream): Promise<void> {
    const waiting = new Deferred<void>()
    stream.answers.push(waiting)
    return waiting.promise
  }

  #check(stream: Stream): void {
    if (stream.failed !== undefined) throw stream.failed
    if (this.#stream !== stream) throw new Error('the stream was given up')
  }

  #forget(stream: Stream): void {
    if (this.#stream === stream) this.#stream = null
  }
}

/** A staged state and in which term it was sent. */
type Repair = { readonly snapshot: SnapshotMeta; readonly term: Term; readonly bytes: number }

type Stream = {
  readonly id: number
  readonly from: NodeId
  readonly term: Term
  /** The index of a state that was asked for; null: it was not. */
  readonly repairs: LogIndex | null
  /** That came so far. */
  bytes: number
  /** One for each word that waits for its answer, in order. */
  readonly answers: Deferred<void>[]
  failed?: Error
}
