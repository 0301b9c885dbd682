import { connect } from 'node:tls'
import type { TLSSocket } from 'node:tls'

export type Endpoint = {
  readonly host: string
  readonly port: number
  readonly ca: string
  readonly cert?: string
  readonly key?: string
}

export type Received = { readonly status: number; readonly bytes: number }

/**
 * One HTTP/1.1 connection that sends prepared bytes and reads just enough of each answer to know where it
 * ends, so that the generator's share of the machine stays small. One request at a time.
 */
export class Http1Connection {
  readonly #socket: TLSSocket
  #waiting: { resolve: (received: Received) => void; reject: (cause: Error) => void } | null = null
  #buffer: Buffer = Buffer.alloc(0)
  #status = 0
  #remaining = -1
  #bytes = 0
  #chunked = false

  private constructor(socket: TLSSocket) {
    this.#socket = socket
    socket.setNoDelay(true)
    socket.on('data', (data: Buffer) => this.#take(data))
    socket.on('error', (cause: Error) => this.#fail(cause))
    socket.on('close', () => this.#fail(new Error('connection closed')))
  }

  static open(endpoint: Endpoint): Promise<Http1Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ ...endpoint, ALPNProtocols: ['http/1.1'], servername: 'localhost' })
      socket.once('secureConnect', () => resolve(new Http1Connection(socket)))
      socket.once('error', reject)
    })
  }

  send(request: Buffer): Promise<Received> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject }
      this.#socket.write(request)
    })
  }

  close(): void {
    this.#socket.destroy()
  }

  #fail(cause: Error): void {
    this.#waiting?.reject(cause)
    this.#waiting = null
  }

  #take(data: Buffer): void {
    this.#buffer = this.#buffer.length === 0 ? data : Buffer.concat([this.#buffer, data])
    if (this.#remaining < 0 && !this.#takeHead()) return
    if (this.#chunked) {
      this.#takeChunks()
      return
    }
    const taken = Math.min(this.#remaining, this.#buffer.length)
    this.#remaining -= taken
    this.#bytes += taken
    this.#buffer = this.#buffer.subarray(taken)
    if (this.#remaining === 0) this.#done()
  }

  #takeHead(): boolean {
    const end = this.#buffer.indexOf('\r\n\r\n')
    if (end < 0) return false
    const head = this.#buffer.toString('latin1', 0, end).toLowerCase()
    this.#buffer = this.#buffer.subarray(end + 4)
    this.#status = Number(head.slice(9, 12))
    this.#bytes = 0
    this.#chunked = head.includes('transfer-encoding: chunked')
    const length = /content-length: (\d+)/.exec(head)
    this.#remaining = length === null ? 0 : Number(length[1])
    return true
  }

  #takeChunks(): void {
    for (;;) {
      const lineEnd = this.#buffer.indexOf('\r\n')
      if (lineEnd < 0) return
      const size = parseInt(this.#buffer.toString('latin1', 0, lineEnd), 16)
      if (this.#buffer.length < lineEnd + 4 + size) return
      this.#buffer = this.#buffer.subarray(lineEnd + 4 + size)
      this.#bytes += size
      if (size === 0) {
        this.#done()
        return
      }
    }
  }

  #done(): void {
    const waiting = this.#waiting
    this.#waiting = null
    this.#remaining = -1
    this.#chunked = false
    waiting?.resolve({ status: this.#status, bytes: this.#bytes })
  }
}
