import type { Clock, Timer } from '../../base/clock.ts'
import type { SeededRandom } from '../../base/random.ts'
import { Connection, LineStream } from './connection.ts'
import type { Endpoint } from '../../src/credentials/endpoint.ts'
import { VerifyError } from './errors.ts'
import type { Recorder } from './recorder.ts'
import { pause } from './pause.ts'
import { sideLabel } from './sides.ts'
import type { Side } from './sides.ts'
import { collection, watchLineOf } from './wire.ts'

export type WatcherOptions = {
  readonly name: string
  readonly recorder: Recorder
  readonly clock: Clock
  readonly random: SeededRandom
  readonly endpoints: readonly Endpoint[]
  /** The endpoint that it begins at. A watcher that does not wander returns to it; see `#move`. */
  readonly first: Endpoint
  /** Whether the watcher disconnects from time to time and continues at a random endpoint. */
  readonly wanders: boolean
  /** Label selector; null: all objects. */
  readonly side: Side | null
  /**
   * Time limit in ms of a list and of the start of a watch. A watch without events for two to three
   * times as long is closed.
   */
  readonly timeoutMs: number
}

/** A wandering watcher stays at an endpoint for this long, up to twice as long. */
const stayMs = 700
const backOffMs = 100

/**
 * Lists, watches from the revision of the list, and resumes after the last event when a watch ends.
 */
export class VerifyWatcher {
  readonly #options: WatcherOptions
  #endpoint: Endpoint
  #lists = 0
  /** Everything up to this revision was received; null: it has to list. */
  #position: number | null = null
  #resumes = false
  #stream: LineStream | null = null
  #stopped = false
  #settled = false

  constructor(options: WatcherOptions) {
    this.#options = options
    this.#endpoint = options.first
  }

  get side(): Side | null {
    return this.#options.side
  }

  get position(): number {
    return this.#position ?? 0
  }

  /** Keeps the watcher from disconnecting by itself from now on. */
  settle(): void {
    this.#settled = true
  }

  stop(): void {
    this.#stopped = true
    this.#stream?.close()
  }

  /** Runs until it is stopped. @throws VerifyError `history` */
  async run(): Promise<void> {
    const { clock } = this.#options
    while (!this.#stopped) {
      if (this.#position === null) await this.#list()
      else await this.#watch(this.#position)
      if (!this.#stopped) await pause(clock, backOffMs)
    }
  }

  async #list(): Promise<void> {
    const { recorder, name, clock, timeoutMs } = this.#options
    const connection = new Connection(this.#endpoint, clock)
    const request = {
      kind: 'list',
      mode: { kind: 'most-recent' },
      limit: null,
      list: ++this.#lists,
      page: 0,
    } as const
    const { answer } = await recorder.call(name, connection, request, { timeoutMs })
    connection.close()
    if (answer.kind === 'list') {
      this.#position = answer.revision
      this.#resumes = false
    } else this.#move()
  }

  async #watch(after: number): Promise<void> {
    const { recorder, name, clock, timeoutMs, side } = this.#options
    const id = recorder.watch({
      ...{ watcher: name, member: this.#endpoint.name, after, resumed: this.#resumes, side },
    })
    this.#resumes = true
    const selector = side === null ? '' : `&labelSelector=${sideLabel}%3D${side}`
    const query = `watch=1&allowWatchBookmarks=true&resourceVersion=${after}${selector}`
    const stream = new LineStream(this.#endpoint, `${collection(recorder.place)}?${query}`)
    this.#stream = stream
    // Gives up on a member that accepts the request and sends nothing.
    const accepted = clock.after(timeoutMs, () => stream.close())
    const broken = this.#breakLater(stream)
    let why: string
    try {
      const status = await stream.status()
      accepted.cancel()
      why = status === 200 ? await this.#follow(id, stream) : `status ${status}`
      // The requested revision is no longer available.
      if (status === 410) this.#position = null
    } catch (cause) {
      // A history that cannot be written ends the run; a broken connection is resumed.
      if (cause instanceof VerifyError) throw cause
      why = cause instanceof Error ? cause.message : String(cause)
    }
    accepted.cancel()
    broken?.cancel()
    stream.close()
    this.#stream = null
    recorder.watchEnd(id, why)
    this.#move()
  }

  /** @returns why the watch ended */
  async #follow(id: number, stream: LineStream): Promise<string> {
    const { recorder, clock, timeoutMs } = this.#options
    let receivedMs = clock.monotonicMs()
    const silence = clock.every(timeoutMs, () => {
      if (clock.monotonicMs() - receivedMs >= 2 * timeoutMs) stream.close()
    })
    try {
      for await (const line of stream.lines()) {
        receivedMs = clock.monotonicMs()
        const why = this.#take(id, line)
        if (why !== null) return why
        await recorder.untilWritable()
      }
    } finally {
      silence.cancel()
    }
    return 'ended'
  }

  /** @returns why the watch ends here; null: it continues */
  #take(id: number, line: string): string | null {
    const { recorder } = this.#options
    if (this.#stopped) return 'left'
    const event = watchLineOf(line, recorder.place)
    if (event === null) return `not a line of a watch: ${line.slice(0, 80)}`
    if (event.kind === 'error') {
      if (event.code === 410) this.#position = null
      return `error ${event.code} ${event.why}`
    }
    recorder.event(id, event)
    this.#position = Math.max(this.#position ?? 0, event.revision)
    return null
  }

  #breakLater(stream: LineStream): Timer | null {
    const { wanders, clock, random } = this.#options
    if (!wanders || this.#settled) return null
    return clock.after(stayMs + random.below(stayMs), () => {
      if (!this.#settled) stream.close()
    })
  }

  #move(): void {
    const { endpoints, wanders, random, first } = this.#options
    // A watcher that does not wander returns to its endpoint, or half of the time uses a random
    // one, because its own may be down.
    this.#endpoint = wanders || random.chance(0.5) ? random.pick(endpoints) : first
  }
}
