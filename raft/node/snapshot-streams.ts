import { oneLine } from '../protocol/one-line.ts'
import type { SnapshotSink, SnapshotSource, StateMachine } from '../ports.ts'
import type { ApiToRaft, RaftToApi } from '../protocol/thread-messages.ts'

/**
 * The api thread's side of snapshot streams: opens the streams that the raft thread requests, and
 * answers its messages about each stream in order. The raft thread limits the number of streams and
 * of unanswered messages.
 */
export class SnapshotStreams {
  readonly #machine: StateMachine<unknown>
  readonly #post: (message: ApiToRaft) => void
  readonly #sources = new Map<number, StreamQueue<SnapshotSource>>()
  readonly #sinks = new Map<number, StreamQueue<SnapshotSink>>()
  /**
   * Resolves when all steps of earlier sinks have ended: only then the next snapshot is staged.
   */
  #staging: Promise<unknown> = Promise.resolve()
  #wantedAtMs = Number.NEGATIVE_INFINITY

  constructor(machine: StateMachine<unknown>, post: (message: ApiToRaft) => void) {
    this.#machine = machine
    this.#post = post
  }

  /** @returns whether the message was about a snapshot stream */
  take(message: RaftToApi): boolean {
    switch (message.kind) {
      case 'source-open':
        this.#openSource(message)
        return true
      case 'source-pull':
        this.#pull(message.stream)
        return true
      case 'source-close':
        void this.#closeSource(message.stream)
        return true
      case 'sink-open':
        this.#openSink(message)
        return true
      case 'sink-chunk':
        this.#sinkStep(message.stream, (sink) => sink.chunk(message.bytes))
        return true
      case 'sink-finish':
        this.#finish(message.stream)
        return true
      case 'sink-abort':
        void this.#abort(message.stream, message.cause)
        return true
      default:
        return false
    }
  }

  /**
   * Requests a snapshot if the state machine needs one to replace a quarantined state. Called
   * repeatedly; it sends one request in `wantPeriodMs`.
   */
  wantState(nowMs: number): void {
    const atLeast = this.#machine.wanted
    if (atLeast === null || nowMs - this.#wantedAtMs < wantPeriodMs) return
    this.#wantedAtMs = nowMs
    this.#post({ kind: 'state-wanted', atLeast })
  }

  /**
   * Gives up every stream. Resolves when all sources are closed, and all sinks aborted or finished:
   * the disk under them may be closed next.
   */
  async close(): Promise<void> {
    const finishing = this.#staging
    const aborts = [...this.#sinks.keys()].map((stream) => this.#abort(stream, 'stopping'))
    const closes = [...this.#sources.keys()].map((stream) => this.#closeSource(stream))
    await Promise.all([finishing, ...aborts, ...closes])
  }

  #openSource({ stream, atLeast }: MessageOf<'source-open'>): void {
    const opened = this.#machine.produceSnapshot(atLeast)
    this.#sources.set(stream, { opened, tail: opened })
    opened.then(
      (source) => this.#post({ kind: 'source-opened', stream, snapshot: source.snapshot }),
      (cause: unknown) => this.#sourceFailed(stream, cause),
    )
  }

  #pull(stream: number): void {
    const queue = this.#sources.get(stream)
    if (queue === undefined) return
    queue.tail = queue.tail
      .then(async () => {
        if (!this.#sources.has(stream)) return
        const bytes = await (await queue.opened).next()
        if (this.#sources.has(stream)) this.#post({ kind: 'source-chunk', stream, bytes })
      })
      .catch((cause: unknown) => this.#sourceFailed(stream, cause))
  }

  #sourceFailed(stream: number, cause: unknown): void {
    if (!this.#sources.has(stream)) return
    this.#post({ kind: 'source-failed', stream, cause: oneLine(cause) })
    void this.#closeSource(stream)
  }

  #closeSource(stream: number): Promise<void> {
    const queue = this.#sources.get(stream)
    if (queue === undefined) return Promise.resolve()
    this.#sources.delete(stream)
    // The source is closed after the pending steps. A failure to open or close it is ignored.
    return queue.tail
      .catch(() => undefined)
      .then(async () => (await queue.opened).close())
      .catch(() => undefined)
  }

  #openSink({ stream, snapshot }: MessageOf<'sink-open'>): void {
    const opened = this.#staging.then(() => this.#machine.stageSnapshot(snapshot))
    this.#staging = opened.catch(() => undefined)
    this.#sinks.set(stream, { opened, tail: opened })
    opened.then(
      () => this.#taken(stream),
      (cause: unknown) => this.#sinkFailed(stream, cause),
    )
  }

  #sinkStep(stream: number, step: (sink: SnapshotSink) => Promise<void>): void {
    const queue = this.#sinks.get(stream)
    if (queue === undefined) return
    queue.tail = queue.tail
      .then(async () => {
        if (!this.#sinks.has(stream)) return
        await step(await queue.opened)
        this.#taken(stream)
      })
      .catch((cause: unknown) => this.#sinkFailed(stream, cause))
  }

  #finish(stream: number): void {
    const queue = this.#sinks.get(stream)
    if (queue === undefined) return
    queue.tail = queue.tail
      .then(async () => {
        // The sink is removed first, so that it is not aborted after it was finished.
        if (!this.#sinks.delete(stream)) return
        await (await queue.opened).finish()
        this.#post({ kind: 'sink-taken', stream })
      })
      .catch((cause: unknown) => this.#post({ kind: 'sink-failed', stream, cause: oneLine(cause) }))
    this.#staging = queue.tail
  }

  #taken(stream: number): void {
    if (this.#sinks.has(stream)) this.#post({ kind: 'sink-taken', stream })
  }

  #sinkFailed(stream: number, cause: unknown): void {
    if (!this.#sinks.has(stream)) return
    this.#post({ kind: 'sink-failed', stream, cause: oneLine(cause) })
    void this.#abort(stream, oneLine(cause))
  }

  #abort(stream: number, cause: string): Promise<void> {
    const queue = this.#sinks.get(stream)
    if (queue === undefined) return Promise.resolve()
    this.#sinks.delete(stream)
    const aborted = queue.tail
      .catch(() => undefined)
      .then(async () => (await queue.opened).abort(cause))
      .catch(() => undefined)
    this.#staging = aborted
    return aborted
  }
}

/** Minimum interval in ms of the requests for a snapshot. */
const wantPeriodMs = 500

type MessageOf<Kind extends RaftToApi['kind']> = Extract<RaftToApi, { readonly kind: Kind }>

/** An opened source or sink, and the end of its queue of steps. */
type StreamQueue<T> = { readonly opened: Promise<T>; tail: Promise<unknown> }
