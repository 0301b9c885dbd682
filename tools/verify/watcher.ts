import type { Clock, Timer } from '../../base/clock.ts'
import type { SeededRandom } from '../../base/random.ts'
import { Connection, LineStream } from './connection.ts'
import type { Endpoint } from './endpoint.ts'
import { VerifyFailure } from './errors.ts'
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
  /** Where it begins. */
  readonly first: Endpoint
  /** Whether it breaks off from time to time and goes on elsewhere. */
  readonly wanders: boolean
  /** What it watches; null: everything. */
  readonly side: Side | null
  /** Of its lists, and until a watch is accepted. One that says nothing for twice as long is left too. */
  readonly timeoutMs: number
}

/** A watcher that wanders stays between so long and twice so long. */
const stayMs = 700
const backOffMs = 100

/** Lists, watches from there, and resumes behind the last told whenever its watch ends, for whatever reason. */
export class VerifyWatcher {
  readonly #options: WatcherOptions
  #endpoint: Endpoint
  #lists = 0
  /** Everything up to here was told; null: it has to list. */
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

  /** From now on it breaks off no more. */
  settle(): void {
    this.#settled = true
  }

  stop(): void {
    this.#stopped = true
    this.#stream?.close()
  }

  /** Until it is stopped. @throws VerifyFailure `history` */
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
    // A member that takes the request and says nothing is left for another.
    const accepted = clock.after(timeoutMs, () => stream.close())
    const broken = this.#breakLater(stream)
    let why: string
    try {
      const status = await stream.status()
      accepted.cancel()
      why = status === 200 ? await this.#follow(id, stream) : `status ${status}`
      // What was asked for is no longer kept.
      if (status === 410) this.#position = null
    } catch (cause) {
      // A history that cannot be written ends it all; a connection that broke is what watches are resumed for.
      if (cause instanceof VerifyFailure) throw cause
      why = cause instanceof Error ? cause.message : String(cause)
    }
    accepted.cancel()
    broken?.cancel()
    stream.close()
    this.#stream = null
    recorder.watchEnd(id, why)
    this.#move()
  }

  /** @returns why it ended */
  async #follow(id: number, stream: LineStream): Promise<string> {
    const { recorder, clock, timeoutMs } = this.#options
    let heardMs = clock.monotonicMs()
    const silence = clock.every(timeoutMs, () => {
      if (clock.monotonicMs() - heardMs >= 2 * timeoutMs) stream.close()
    })
    try {
      for await (const line of stream.lines()) {
        heardMs = clock.monotonicMs()
        const why = this.#take(id, line)
        if (why !== null) return why
        await recorder.room()
      }
    } finally {
      silence.cancel()
    }
    return 'ended'
  }

  /** @returns why it ends here; null: it goes on */
  #take(id: number, line: string): string | null {
    const { recorder } = this.#options
    if (this.#stopped) return 'left'
    const told = watchLineOf(line, recorder.place)
    if (told === null) return `not a line of a watch: ${line.slice(0, 80)}`
    if (told.kind === 'error') {
      if (told.code === 410) this.#position = null
      return `error ${told.code} ${told.why}`
    }
    recorder.event(id, told)
    this.#position = Math.max(this.#position ?? 0, told.revision)
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
    // Those that stay try their own member again, and now and then another while that is away.
    this.#endpoint = wanders || random.chance(0.5) ? random.pick(endpoints) : first
  }
}
