import type { Socket } from 'node:net'
import type { ResolvedEndpoint } from '../../../src/credentials/endpoint.ts'
import { benchLimits } from '../limits.ts'
import { ResponseReader } from './response-reader.ts'
import type { ResponseHead } from './response-reader.ts'
import { openSocket } from './socket.ts'

export type WireAnswer = {
  readonly status: number
  readonly consistency: string | null
  /** Bytes of the body. */
  readonly bytes: number
  /** The first bytes of the body, as many as requested. */
  readonly start: string
}

type Waiting = {
  readonly keepBytes: number
  readonly resolve: (answer: WireAnswer) => void
  readonly reject: (cause: Error) => void
}

/**
 * One HTTP/1.1 connection that sends prepared bytes, one request at a time. Of a response it parses
 * only the status, the consistency header and the end.
 */
export class WireConnection {
  readonly #socket: Socket
  readonly #reader: ResponseReader
  #waiting: Waiting | null = null
  #head: ResponseHead | null = null
  #bytes = 0
  #kept: Buffer[] = []
  #keptBytes = 0
  #broken = false

  private constructor(socket: Socket) {
    this.#socket = socket
    this.#reader = new ResponseReader({
      head: (head) => (this.#head = head),
      body: (data, from, to) => this.#body(data, from, to),
      end: () => this.#answered(),
    })
    socket.setTimeout(benchLimits.answerMsMax, () => {
      // While no request is in progress, silence is not a failure.
      if (this.#waiting !== null) this.#fail(new Error(`no answer for ${benchLimits.answerMsMax / 1000} s`))
    })
    socket.on('data', (data: Buffer) => {
      try {
        this.#reader.feed(data)
      } catch (cause) {
        this.#fail(cause instanceof Error ? cause : new Error(String(cause)))
      }
    })
    socket.on('error', (cause) => this.#fail(cause))
    socket.on('close', () => {
      if (!this.#reader.close()) this.#fail(new Error('the connection was closed'))
    })
  }

  /** @throws Error when it cannot be opened */
  static async open(endpoint: ResolvedEndpoint): Promise<WireConnection> {
    return new WireConnection(await openSocket(endpoint, benchLimits.answerMsMax))
  }

  /** Whether requests can be sent: false after a failure or the last response of the connection. */
  get isOpen(): boolean {
    return !this.#broken
  }

  /** @param keepBytes number of body bytes to keep @throws Error without a complete response */
  ask(request: Buffer, keepBytes = 0): Promise<WireAnswer> {
    return new Promise((resolve, reject) => {
      if (this.#broken) {
        reject(new Error('the connection is closed'))
        return
      }
      this.#waiting = { keepBytes: Math.min(keepBytes, benchLimits.keptBytesMax), resolve, reject }
      this.#bytes = 0
      this.#kept = []
      this.#keptBytes = 0
      this.#socket.write(request)
    })
  }

  close(): void {
    this.#broken = true
    this.#socket.destroy()
  }

  #body(data: Buffer, from: number, to: number): void {
    this.#bytes += to - from
    const wanted = (this.#waiting?.keepBytes ?? 0) - this.#keptBytes
    if (wanted <= 0) return
    const piece = data.subarray(from, Math.min(to, from + wanted))
    this.#kept.push(piece)
    this.#keptBytes += piece.length
  }

  #answered(): void {
    const waiting = this.#waiting
    const head = this.#head
    this.#waiting = null
    this.#head = null
    if (waiting === null || head === null) {
      this.close()
      return
    }
    if (head.isLast) this.close()
    const start = this.#kept.length === 0 ? '' : Buffer.concat(this.#kept).toString('utf8')
    this.#kept = []
    waiting.resolve({ status: head.status, consistency: head.consistency, bytes: this.#bytes, start })
  }

  #fail(cause: Error): void {
    const waiting = this.#waiting
    this.#waiting = null
    this.close()
    waiting?.reject(cause)
  }
}
