import { benchLimits } from '../limits.ts'

/** The parts of a response head that are used; parsing less keeps the generator cheap. */
export type ResponseHead = {
  readonly status: number
  /** The `Orch-Consistency` header; null: absent. */
  readonly consistency: string | null
  /** The server closes the connection after this response. */
  readonly isLast: boolean
}

export type ResponseListener = {
  readonly head: (head: ResponseHead) => void
  /** Bytes of the body, from `from` to before `to`. */
  readonly body: (data: Buffer, from: number, to: number) => void
  readonly end: () => void
}

type State = 'head' | 'sized' | 'chunk-size' | 'chunk' | 'chunk-end' | 'trailer' | 'until-close'

/** Finds the boundaries of HTTP/1.1 responses. @source RFC 9112 sections 6 and 7.1 */
export class ResponseReader {
  readonly #listener: ResponseListener
  #state: State = 'head'
  /** An incomplete head or line. */
  #carry: Buffer = Buffer.alloc(0)
  #remaining = 0

  constructor(listener: ResponseListener) {
    this.#listener = listener
  }

  /** Handles the end of the connection. @returns whether it completed a response */
  close(): boolean {
    if (this.#state !== 'until-close') return false
    this.#state = 'head'
    this.#listener.end()
    return true
  }

  /** @throws Error for malformed HTTP/1.1 */
  feed(data: Buffer): void {
    let at = 0
    while (at < data.length) {
      switch (this.#state) {
        case 'head':
          at = this.#takeHead(data, at)
          break
        case 'sized':
        case 'chunk':
          at = this.#takeBody(data, at)
          break
        case 'chunk-size':
        case 'chunk-end':
        case 'trailer':
          at = this.#takeLine(data, at)
          break
        case 'until-close':
          this.#listener.body(data, at, data.length)
          return
      }
    }
  }

  #takeBody(data: Buffer, at: number): number {
    const to = Math.min(data.length, at + this.#remaining)
    this.#remaining -= to - at
    this.#listener.body(data, at, to)
    if (this.#remaining > 0) return to
    if (this.#state === 'chunk') this.#state = 'chunk-end'
    else this.#end()
    return to
  }

  #takeHead(data: Buffer, at: number): number {
    const before = this.#carry.length
    const text = before === 0 ? data.subarray(at) : Buffer.concat([this.#carry, data.subarray(at)])
    // The delimiter may span both chunks.
    const end = text.indexOf('\r\n\r\n', Math.max(0, before - 3))
    if (end < 0) {
      this.#keep(text)
      return data.length
    }
    this.#carry = Buffer.alloc(0)
    this.#begin(text.toString('latin1', 0, end))
    return at + end + 4 - before
  }

  #begin(head: string): void {
    const status = Number(/^HTTP\/1\.[01] (\d{3})(?: |\r|$)/.exec(head)?.[1] ?? Number.NaN)
    if (Number.isNaN(status)) throw new Error('the server does not answer in HTTP/1.1')
    // An interim response such as 100 Continue; the final one follows.
    if (status < 200) return
    const isLast = /\r\nconnection:[^\r]*\bclose\b/i.test(head)
    const consistency = /\r\norch-consistency:[ \t]*([^\r]*)/i.exec(head)?.[1] ?? null
    this.#listener.head({ status, consistency, isLast })
    const length = /\r\ncontent-length:[ \t]*(\d+)/i.exec(head)
    if (status === 204 || status === 304) this.#end()
    else if (/\r\ntransfer-encoding:[^\r]*\bchunked\b/i.test(head)) this.#state = 'chunk-size'
    else if (length === null) this.#state = 'until-close'
    else {
      this.#remaining = Number(length[1])
      this.#state = 'sized'
      if (this.#remaining === 0) this.#end()
    }
  }

  #takeLine(data: Buffer, at: number): number {
    const end = data.indexOf(0x0a, at)
    if (end < 0) {
      this.#keep(Buffer.concat([this.#carry, data.subarray(at)]))
      return data.length
    }
    const line = (this.#carry.toString('latin1') + data.toString('latin1', at, end)).trimEnd()
    this.#carry = Buffer.alloc(0)
    if (this.#state === 'chunk-end') {
      if (line !== '') throw new Error('a chunk is longer than the size in its header')
      this.#state = 'chunk-size'
    } else if (this.#state === 'chunk-size') {
      if (!/^[0-9a-f]{1,8}(?:[;\t ]|$)/i.test(line)) throw new Error('a chunk has no length')
      this.#remaining = parseInt(line, 16)
      this.#state = this.#remaining === 0 ? 'trailer' : 'chunk'
    } else if (line === '') this.#end()
    return end + 1
  }

  #keep(bytes: Buffer): void {
    if (bytes.length > benchLimits.headBytesMax)
      throw new Error('the head, or a line of chunked framing, of a response is too long')
    // A copy, so that the larger chunk can be freed.
    this.#carry = Buffer.from(bytes)
  }

  #end(): void {
    this.#state = 'head'
    this.#listener.end()
  }
}
