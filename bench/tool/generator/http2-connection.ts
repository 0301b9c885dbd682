import { connect } from 'node:http2'
import type { ClientHttp2Session, ClientHttp2Stream, OutgoingHttpHeaders } from 'node:http2'
import { credentialHeaders, headerRecord } from '../../../src/credentials/credentials.ts'
import type { ResolvedEndpoint } from '../../../src/credentials/endpoint.ts'
import { benchLimits } from '../limits.ts'
import type { HttpRequest } from './requests.ts'
import { openSocket } from './socket.ts'
import type { WireAnswer } from './wire-connection.ts'

export type Http2Request = { readonly headers: OutgoingHttpHeaders; readonly body: Buffer | null }

/** Returns a complete HTTP/2 request. */
export function http2Request({ url, credentials }: ResolvedEndpoint, requested: HttpRequest): Http2Request {
  const { host, pathname } = new URL(url)
  const body = requested.body === undefined ? null : Buffer.from(requested.body)
  return {
    body,
    headers: {
      ...{ ':method': requested.method, ':scheme': 'https', ':authority': host },
      ...{ ':path': `${pathname.replace(/\/$/, '')}${requested.path}` },
      ...{ accept: 'application/json', 'user-agent': 'orchctl-bench' },
      ...headerRecord(credentialHeaders(credentials)),
      ...(typeof requested.consistency === 'string' ? { 'orch-consistency': requested.consistency } : {}),
      ...(body === null
        ? {}
        : { 'content-type': requested.contentType ?? 'application/json', 'content-length': body.length }),
    },
  }
}

type Waiting = { readonly reject: (cause: Error) => void }

/** One HTTP/2 connection with one stream at a time. */
export class Http2Connection {
  readonly #session: ClientHttp2Session
  #waiting: Waiting | null = null
  #broken = false

  private constructor(session: ClientHttp2Session) {
    this.#session = session
    // SETTINGS sets the window of streams only; that of the connection is set separately.
    session.setLocalWindowSize(benchLimits.http2WindowBytes)
    session.setTimeout(benchLimits.answerMsMax, () => {
      // While no request is in progress, silence is not a failure.
      if (this.#waiting !== null) this.#fail(new Error(`no answer for ${benchLimits.answerMsMax / 1000} s`))
    })
    // A request in progress is still answered after GOAWAY.
    session.on('goaway', () => (this.#broken = true))
    session.on('error', (cause: Error) => this.#fail(cause))
    session.on('close', () => this.#fail(new Error('the connection was closed')))
  }

  /** @throws Error when it cannot be opened, for example if the server does not support HTTP/2 */
  static async open(endpoint: ResolvedEndpoint): Promise<Http2Connection> {
    const socket = await openSocket(endpoint, benchLimits.answerMsMax, 'h2')
    const session = connect(endpoint.url, {
      createConnection: () => socket,
      settings: { enablePush: false, initialWindowSize: benchLimits.http2WindowBytes },
    })
    return new Promise((resolve, reject) => {
      session.once('error', reject)
      session.once('connect', () => {
        session.removeListener('error', reject)
        resolve(new Http2Connection(session))
      })
    })
  }

  /** Whether it accepts another request. */
  get isOpen(): boolean {
    return !this.#broken
  }

  /** @param keepBytes number of body bytes to keep @throws Error when the response is incomplete */
  ask(request: Http2Request, keepBytes = 0): Promise<WireAnswer> {
    return new Promise((resolve, reject) => {
      if (this.#broken) {
        reject(new Error('the connection is closed'))
        return
      }
      this.#waiting = { reject }
      const stream = this.#session.request(request.headers, { endStream: request.body === null })
      if (request.body !== null) stream.end(request.body)
      read(stream, Math.min(keepBytes, benchLimits.keptBytesMax), {
        answered: (answer) => {
          this.#waiting = null
          resolve(answer)
        },
        failed: (cause) => {
          this.#waiting = null
          reject(cause)
        },
      })
    })
  }

  close(): void {
    this.#broken = true
    this.#session.destroy()
  }

  #fail(cause: Error): void {
    const waiting = this.#waiting
    this.#waiting = null
    this.close()
    waiting?.reject(cause)
  }
}

type Outcome = { readonly answered: (answer: WireAnswer) => void; readonly failed: (cause: Error) => void }

function read(stream: ClientHttp2Stream, keepBytes: number, { answered, failed }: Outcome): void {
  let head: { readonly status: number; readonly consistency: string | null } | null = null
  let [bytes, keptBytes, isWhole] = [0, 0, false]
  let broken = new Error('the connection was closed')
  const kept: Buffer[] = []
  stream.on('response', (headers) => {
    const given = headers['orch-consistency']
    head = { status: headers[':status'] ?? 0, consistency: typeof given === 'string' ? given : null }
  })
  stream.on('data', (data: Buffer) => {
    bytes += data.length
    if (keptBytes >= keepBytes) return
    const piece = data.subarray(0, keepBytes - keptBytes)
    kept.push(piece)
    keptBytes += piece.length
  })
  stream.on('end', () => (isWhole = true))
  stream.on('error', (cause: Error) => (broken = cause))
  // A stream that is reset ends as well, so only `close` proves that the response is complete.
  stream.on('close', () => {
    if (head === null || !isWhole) failed(broken)
    else if (stream.rstCode !== 0) failed(new Error(`the stream was reset (${stream.rstCode})`))
    else answered({ ...head, bytes, start: Buffer.concat(kept).toString('utf8') })
  })
}
