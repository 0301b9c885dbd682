import type { Clock } from '../../base/clock.ts'
import type { Connection } from './connection.ts'
import type { HistoryFile } from './history-file.ts'
import type { Answer, Copy, Request, RunFacts, Version } from './history.ts'
import { isWrite } from './history.ts'
import { historyFormat } from './history-lines.ts'
import type { Line } from './history-lines.ts'
import { answerOf, callRequest } from './wire.ts'
import type { AnswerPage, Place } from './wire.ts'

/** Progress of a recording. */
export type Progress = {
  readonly atMs: number
  readonly calls: number
  readonly acknowledgedWrites: number
  readonly answeredReads: number
  readonly unknown: number
  readonly events: number
  /** Longest time between two consecutive acknowledged writes of all clients. */
  readonly longestGapMs: number
}

/** Records every call and watch with its logical times. */
export class Recorder {
  readonly place: Place
  /** The newest revision that any client has observed. */
  newest = 0
  /** The latest known version by name; clients use these as preconditions. */
  readonly known = new Map<string, Version>()
  readonly #file: HistoryFile
  readonly #clock: Clock
  readonly #startMs: number
  #moment = 0
  #watches = 0
  #calls = 0
  #writes = 0
  #reads = 0
  #unknown = 0
  #events = 0
  #lastWriteMs = 0
  #longestGapMs = 0

  constructor(options: {
    readonly file: HistoryFile
    readonly clock: Clock
    readonly place: Place
    readonly facts: RunFacts
  }) {
    const { file, clock, place, facts } = options
    this.place = place
    this.#file = file
    this.#clock = clock
    this.#startMs = clock.monotonicMs()
    file.write({ line: 'run', format: historyFormat, ...facts })
  }

  /** Ms since the start. */
  nowMs(): number {
    return Math.round((this.#clock.monotonicMs() - this.#startMs) * 1000) / 1000
  }

  /** Waits while too much is queued for the file. @throws VerifyError `history` */
  untilWritable(): Promise<void> {
    return this.#file.untilWritable()
  }

  /** Sends a call and records request and answer. */
  async call(
    client: string,
    connection: Connection,
    request: Request,
    options: { readonly timeoutMs: number; readonly continueToken?: string | null },
  ): Promise<AnswerPage> {
    const begin = ++this.#moment
    const beginMs = this.nowMs()
    const requested = callRequest(request, this.place, options.continueToken ?? null)
    const reply = await connection.ask(requested, options.timeoutMs)
    const answered = answerOf(request, reply, this.place)
    const end = ++this.#moment
    const endMs = this.nowMs()
    const { answer } = answered
    this.#file.write({
      ...{ line: 'call', client, member: connection.endpoint.name, connection: reply.connection },
      ...{ begin, end, beginMs, endMs, request, answer },
    })
    this.#count(request, answer, endMs)
    return answered
  }

  /** @returns the number of the watch */
  watch(watch: Omit<Extract<Line, { line: 'watch' }>, 'line' | 'id' | 'begin' | 'beginMs'>): number {
    const id = ++this.#watches
    this.#file.write({ line: 'watch', id, begin: ++this.#moment, beginMs: this.nowMs(), ...watch })
    return id
  }

  event(
    watch: number,
    reported: Omit<Extract<Line, { line: 'event' }>, 'line' | 'watch' | 'at' | 'atMs'>,
  ): void {
    const { type, revision, version } = reported
    this.#file.write({
      ...{ line: 'event', watch, at: ++this.#moment, atMs: this.nowMs() },
      ...{ type, revision, version },
    })
    this.#events++
    this.#learn(revision)
  }

  watchEnd(watch: number, why: string): void {
    this.#file.write({ line: 'watch-end', watch, why })
  }

  copy(copy: Omit<Copy, 'atMs'>): void {
    this.#file.write({ line: 'copy', atMs: this.nowMs(), ...copy })
  }

  end(lastRevision: number | null): void {
    this.#file.write({ line: 'end', lastRevision, endedMs: this.nowMs() })
  }

  get progress(): Progress {
    return {
      atMs: this.nowMs(),
      calls: this.#calls,
      acknowledgedWrites: this.#writes,
      answeredReads: this.#reads,
      unknown: this.#unknown,
      events: this.#events,
      longestGapMs: this.#longestGapMs,
    }
  }

  #count(request: Request, answer: Answer, endMs: number): void {
    this.#calls++
    if (answer.kind === 'unknown') this.#unknown++
    if (answer.kind === 'unknown' || answer.kind === 'refused') return
    if (isWrite(request)) {
      this.#writes++
      if (this.#writes > 1) this.#longestGapMs = Math.max(this.#longestGapMs, endMs - this.#lastWriteMs)
      this.#lastWriteMs = endMs
    } else this.#reads++
    if (answer.kind === 'object') this.#show(answer.version)
    if (answer.kind === 'list') {
      this.#learn(answer.revision)
      for (const version of answer.versions) this.#show(version)
    }
    if (answer.kind === 'deleted' && request.kind === 'delete') this.known.delete(request.name)
  }

  #show(version: Version): void {
    this.#learn(version.revision)
    const known = this.known.get(version.name)
    if (known === undefined || known.revision < version.revision) this.known.set(version.name, version)
  }

  #learn(revision: number): void {
    this.newest = Math.max(this.newest, revision)
  }
}
