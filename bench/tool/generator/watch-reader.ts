import type { Socket } from 'node:net'
import type { Clock, Timer } from '../../../base/clock.ts'
import type { ResolvedEndpoint } from '../../../src/credentials/endpoint.ts'
import { pause } from '../../../tools/verify/pause.ts'
import type { LatencyHistogram } from '../latency-histogram.ts'
import { benchLimits } from '../limits.ts'
import type { FailureCounts } from './failures.ts'
import { parseMark } from './mark.ts'
import { collectionOf, requestBytes } from './requests.ts'
import { ResponseReader } from './response-reader.ts'
import { openSocket } from './socket.ts'
import { WatchEvents } from './watch-events.ts'

/** Delay of a slow reader between two chunks. */
const slowEveryMs = 1000

export type WatchTally = {
  /** Times from sending a write to reading its event. */
  readonly delays: LatencyHistogram
  readonly failures: FailureCounts
  delivered: number
  /** Events that were skipped, or not received before the end. */
  lost: number
  /** Number of times that a watch ended and was resumed. Failed attempts are failures. */
  resumed: number
}

export type WatchReaderOptions = {
  readonly endpoint: ResolvedEndpoint
  readonly namespace: string
  readonly clock: Clock
  readonly tally: WatchTally
  /** Whether it reads slowly, like a busy client. */
  readonly isSlow: boolean
}

/** Reads one watch, resumes it when it ends, and finds lost events by the numbers of the writes. */
export class WatchReader {
  readonly #options: WatchReaderOptions
  readonly #events: WatchEvents
  #since: string
  /** Number of the last received write. */
  #number = 0
  #socket: Socket | null = null
  #timer: Timer | null = null
  #closed = false
  #isSlow: boolean

  /** @param since revision from which it watches */
  constructor(options: WatchReaderOptions, since: string) {
    this.#options = options
    this.#since = since
    this.#isSlow = options.isSlow
    this.#events = new WatchEvents({
      event: (mark, resourceVersion) => this.#event(mark, resourceVersion),
      bookmark: (resourceVersion) => (this.#since = resourceVersion),
      error: (line) => {
        this.#options.tally.failures.add(line)
        this.#socket?.destroy()
      },
    })
  }

  /** Number of the last received write. */
  get number(): number {
    return this.#number
  }

  /** Resolves when the response has started. @throws Error when it does not */
  async open(): Promise<void> {
    const { endpoint, namespace } = this.#options
    const socket = await openSocket(endpoint, benchLimits.answerMsMax)
    if (this.#closed) {
      socket.destroy()
      return
    }
    this.#socket = socket
    this.#events.reset()
    const query = `watch=true&allowWatchBookmarks=true&resourceVersion=${this.#since}`
    const path = `${collectionOf(namespace)}?${query}`
    await this.#begin(socket, requestBytes(endpoint, { method: 'GET', path }))
    if (this.#isSlow) this.#readSlowly()
  }

  #begin(socket: Socket, request: Buffer): Promise<void> {
    return new Promise((resolve, reject) => {
      let isBegun = false
      const reader = new ResponseReader({
        head: ({ status }) => {
          isBegun = status === 200
          if (isBegun) resolve()
          else socket.destroy(new Error(`watch: HTTP ${status}`))
        },
        body: (data, from, to) => this.#events.take(data, from, to),
        end: () => socket.destroy(),
      })
      socket.on('data', (data: Buffer) => {
        try {
          reader.feed(data)
        } catch (cause) {
          socket.destroy(cause instanceof Error ? cause : new Error(String(cause)))
        }
        if (this.#timer !== null) socket.pause()
      })
      socket.on('error', reject)
      socket.on('close', () => {
        reject(new Error('watch: the connection was closed'))
        if (isBegun && this.#socket === socket) this.#resumeLater()
      })
      socket.write(request)
    })
  }

  /** Makes a slow reader read at full speed from now on. */
  readFast(): void {
    this.#isSlow = false
    this.#timer?.cancel()
    this.#timer = null
    this.#socket?.resume()
  }

  /**
   * Stops; events that have not been received count as lost.
   *
   * @param upTo number of the last write
   */
  giveUp(upTo: number): void {
    this.#options.tally.lost += Math.max(0, upTo - this.#number)
    this.close()
  }

  close(): void {
    this.#closed = true
    this.#timer?.cancel()
    this.#timer = null
    const socket = this.#socket
    this.#socket = null
    socket?.destroy()
  }

  #readSlowly(): void {
    if (this.#timer !== null || this.#closed) return
    this.#socket?.pause()
    this.#timer = this.#options.clock.every(slowEveryMs, () => this.#socket?.resume())
  }

  #event(text: string, resourceVersion: string): void {
    const { tally, clock } = this.#options
    const mark = parseMark(text)
    this.#since = resourceVersion
    // A write that was retried after an unknown outcome appears twice.
    if (mark === null || mark.number <= this.#number) return
    tally.lost += mark.number - this.#number - 1
    this.#number = mark.number
    tally.delivered++
    tally.delays.record(clock.monotonicMs() - mark.atMs)
  }

  /** Resumes a watch that ended although it was not closed here. */
  #resumeLater(): void {
    this.#socket = null
    if (this.#closed) return
    this.#resume().catch((cause: unknown) => {
      this.#options.tally.failures.add(cause instanceof Error ? cause.message : String(cause))
      if (!this.#closed) this.#resumeLater()
    })
  }

  async #resume(): Promise<void> {
    await pause(this.#options.clock, benchLimits.backOffMs)
    if (this.#closed) return
    await this.open()
    this.#options.tally.resumed++
  }
}
