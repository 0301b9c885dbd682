import { Agent, request as httpsRequest } from 'node:https'
import type { IncomingMessage } from 'node:http'

/** The credentials of a caller: PEM texts, or a bearer token. */
export type Credentials = {
  readonly ca: string
  readonly cert?: string
  readonly key?: string
  readonly token?: string
}

export type Reply = {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

/** The JSON body of a response. */
export type Body = { readonly [name: string]: unknown }

export type CallOptions = {
  readonly body?: string | Uint8Array
  readonly contentType?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Ms without any data after which the call fails. */
  readonly timeoutMs?: number
}

/**
 * Thrown when there is no response: the connection was refused or reset, or the call timed out. The
 * call may have had an effect.
 */
export class NoReply extends Error {
  override readonly name = 'NoReply'
}

/** @returns null: there was no response */
export async function replyOf(requested: Promise<Reply>): Promise<Reply | null> {
  try {
    return await requested
  } catch (cause) {
    if (!(cause instanceof NoReply)) throw cause
    return null
  }
}

/** Longer than the request timeout of a server, so that the server reports the cause of a wait. */
const callMsMax = 70_000

/** A plain HTTPS client of one member, over HTTP/1.1 with kept connections. */
export class ApiClient {
  readonly url: URL
  readonly #agent: Agent
  readonly #credentials: Credentials

  constructor(url: string, credentials: Credentials, options: { readonly sockets?: number } = {}) {
    this.url = new URL(url)
    this.#credentials = credentials
    this.#agent = new Agent({ keepAlive: true, maxSockets: options.sockets ?? 64, ...credentials })
  }

  call(method: string, path: string, options: CallOptions = {}): Promise<Reply> {
    return new Promise<Reply>((resolve, reject) => {
      const headers: Record<string, string> = { ...options.headers }
      if (options.body !== undefined) {
        headers['content-type'] ??= options.contentType ?? 'application/json'
        headers['content-length'] = String(Buffer.byteLength(options.body))
      }
      if (this.#credentials.token !== undefined)
        headers['authorization'] = `Bearer ${this.#credentials.token}`
      const request = httpsRequest(
        { host: this.url.hostname, port: this.url.port, method, path, headers, agent: this.#agent },
        (response) => {
          const chunks: Buffer[] = []
          response.on('data', (chunk: Buffer) => chunks.push(chunk))
          response.on('end', () => {
            resolve({
              status: response.statusCode ?? 0,
              headers: response.headers,
              text: Buffer.concat(chunks).toString('utf8'),
            })
          })
          response.on('error', (cause) => reject(new NoReply('cut short', { cause })))
        },
      )
      request.setTimeout(options.timeoutMs ?? callMsMax, () => request.destroy(new Error('timed out')))
      request.on('error', (cause) => reject(new NoReply(cause.message, { cause })))
      request.end(options.body)
    })
  }

  get(path: string, options?: CallOptions): Promise<Reply> {
    return this.call('GET', path, options)
  }

  post(path: string, body: unknown, options?: CallOptions): Promise<Reply> {
    return this.call('POST', path, { ...options, body: JSON.stringify(body) })
  }

  put(path: string, body: unknown, options?: CallOptions): Promise<Reply> {
    return this.call('PUT', path, { ...options, body: JSON.stringify(body) })
  }

  patch(path: string, body: unknown, contentType = 'application/merge-patch+json'): Promise<Reply> {
    return this.call('PATCH', path, { body: JSON.stringify(body), contentType })
  }

  delete(path: string, options?: CallOptions): Promise<Reply> {
    return this.call('DELETE', path, options)
  }

  /**
   * Follows a watch; events come to `onEvent` in order. The promise settles when the stream has
   * ended.
   */
  watch(path: string, onEvent: (event: WatchEvent) => void): WatchHandle {
    let response: IncomingMessage | null = null
    let closed = false
    const headers: Record<string, string> = {}
    if (this.#credentials.token !== undefined) headers['authorization'] = `Bearer ${this.#credentials.token}`
    // A watch holds its connection, so it gets one of its own.
    const agent = new Agent({ keepAlive: false, ...this.#credentials })
    const request = httpsRequest({ host: this.url.hostname, port: this.url.port, path, headers, agent })
    const ended = new Promise<WatchEnd>((resolve) => {
      request.on('response', (incoming) => {
        response = incoming
        let rest = ''
        incoming.setEncoding('utf8')
        incoming.on('data', (text: string) => {
          rest += text
          if (incoming.statusCode !== 200) return
          for (let at = rest.indexOf('\n'); at >= 0; at = rest.indexOf('\n')) {
            const line = rest.slice(0, at)
            rest = rest.slice(at + 1)
            if (line !== '' && !closed) onEvent(JSON.parse(line) as WatchEvent)
          }
        })
        incoming.on('end', () => resolve({ status: incoming.statusCode ?? 0, text: rest }))
        incoming.on('error', () => resolve({ status: incoming.statusCode ?? 0, text: rest }))
        incoming.on('close', () => resolve({ status: incoming.statusCode ?? 0, text: rest }))
      })
      request.on('error', () => resolve({ status: 0, text: '' }))
    }).finally(() => agent.destroy())
    request.end()
    return {
      ended,
      close: () => {
        closed = true
        response?.destroy()
        request.destroy()
      },
    }
  }

  close(): void {
    this.#agent.destroy()
  }
}

export type WatchEvent = {
  readonly type: string
  readonly object: Body & { readonly metadata: { readonly name: string; readonly resourceVersion: string } }
}

export type WatchEnd = { readonly status: number; readonly text: string }

export type WatchHandle = { readonly ended: Promise<WatchEnd>; close(): void }
