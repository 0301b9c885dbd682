import { Agent as HttpAgent, request as httpRequest } from 'node:http'
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import type { Socket } from 'node:net'
import type { Clock } from '../../base/clock.ts'
import type { Endpoint } from './endpoint.ts'
import { verifyLimits } from './limits.ts'

export type HttpCall = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  /** JSON text; null: no body. */
  readonly body: string | null
  /** Value of the `Orch-Consistency` header; unset: the header is not sent. */
  readonly consistency?: string
}

/** An HTTP response, or the reason for its absence. */
export type Reply =
  | {
      readonly kind: 'reply'
      readonly status: number
      readonly body: string
      readonly connection: number
      /** Value of the `Orch-Consistency` response header; null: absent. */
      readonly consistency: string | null
    }
  | { readonly kind: 'none'; readonly why: string; readonly connection: number }

let sockets = 0
const socketNumbers = new WeakMap<Socket, number>()

/** Number of this connection among all that this process has opened. */
function numberOf(socket: Socket | null): number {
  if (socket === null) return 0
  let number = socketNumbers.get(socket)
  if (number === undefined) socketNumbers.set(socket, (number = ++sockets))
  return number
}

/**
 * A keep-alive connection to one endpoint, one request at a time. It reconnects after a failure.
 */
export class Connection {
  readonly endpoint: Endpoint
  readonly #clock: Clock
  readonly #agent: HttpAgent

  constructor(endpoint: Endpoint, clock: Clock) {
    this.endpoint = endpoint
    this.#clock = clock
    const options = { keepAlive: true, maxSockets: 1 }
    this.#agent = isTls(endpoint) ? new HttpsAgent(options) : new HttpAgent(options)
  }

  /** Never rejects: failures are returned. @param timeoutMs time limit of the call */
  ask(requested: HttpCall, timeoutMs: number): Promise<Reply> {
    return new Promise((resolve) => {
      const outgoing = send(this.endpoint, requested, this.#agent)
      const timer = this.#clock.after(timeoutMs, () => {
        outgoing.destroy(new Error(`no answer in ${timeoutMs} ms`))
      })
      const settle = (reply: Reply): void => {
        timer.cancel()
        resolve(reply)
      }
      const fail = (cause: Error): void =>
        settle({ kind: 'none', why: wordsOf(cause), connection: numberOf(outgoing.socket) })
      outgoing.on('error', fail)
      outgoing.on('response', (incoming) => {
        const connection = numberOf(outgoing.socket)
        const chunks: Buffer[] = []
        let bytes = 0
        incoming.on('data', (chunk: Buffer) => {
          bytes += chunk.length
          if (bytes > verifyLimits.answerBytesMax) outgoing.destroy(new Error('the answer is too long'))
          else chunks.push(chunk)
        })
        incoming.on('error', fail)
        incoming.on('end', () => {
          const body = Buffer.concat(chunks).toString('utf8')
          const given = incoming.headers['orch-consistency']
          const consistency = typeof given === 'string' ? given : null
          settle({ kind: 'reply', status: incoming.statusCode ?? 0, body, connection, consistency })
        })
        incoming.on('close', () => {
          if (!incoming.complete) fail(new Error('the answer was cut short'))
        })
      })
    })
  }

  close(): void {
    this.#agent.destroy()
  }
}

/** A stream of lines on a connection of its own. @throws the error that broke the connection */
export class LineStream {
  readonly #outgoing: ClientRequest
  readonly #response: Promise<IncomingMessage>

  constructor(endpoint: Endpoint, path: string) {
    this.#outgoing = send(endpoint, { method: 'GET', path, body: null }, undefined)
    this.#response = new Promise((resolve, reject) => {
      this.#outgoing.on('response', resolve)
      this.#outgoing.on('error', reject)
      this.#outgoing.on('close', () => reject(new Error('closed')))
    })
    this.#response.catch(() => undefined)
  }

  async status(): Promise<number> {
    return (await this.#response).statusCode ?? 0
  }

  /** Reads on demand, so that a slow reader applies backpressure. */
  async *lines(): AsyncGenerator<string, void> {
    const response = await this.#response
    response.setEncoding('utf8')
    let rest = ''
    for await (const chunk of response as AsyncIterable<string>) {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      if (rest.length > verifyLimits.lineBytesMax) throw new Error('a line is too long')
      for (const line of lines) if (line !== '') yield line
    }
    if (rest !== '') yield rest
  }

  close(): void {
    this.#outgoing.destroy()
  }
}

function send(endpoint: Endpoint, requested: HttpCall, agent: HttpAgent | undefined): ClientRequest {
  const { authority, certificate, key, token, insecure } = endpoint
  const headers: Record<string, string> = { accept: 'application/json' }
  if (requested.consistency !== undefined) headers['orch-consistency'] = requested.consistency
  if (token !== null) headers['authorization'] = `Bearer ${token}`
  if (requested.body !== null) {
    headers['content-type'] = 'application/json'
    headers['content-length'] = String(Buffer.byteLength(requested.body))
  }
  const options: RequestOptions = { method: requested.method, headers, agent: agent ?? false }
  const url = new URL(endpoint.url.replace(/\/$/, '') + requested.path)
  const outgoing = isTls(endpoint)
    ? httpsRequest(url, {
        ...options,
        ...(authority === null ? {} : { ca: authority }),
        ...(certificate === null ? {} : { cert: certificate }),
        ...(key === null ? {} : { key }),
        rejectUnauthorized: !insecure,
      })
    : httpRequest(url, options)
  outgoing.setNoDelay(true)
  outgoing.end(requested.body ?? undefined)
  return outgoing
}

function isTls({ url }: Endpoint): boolean {
  return url.startsWith('https:')
}

function wordsOf(cause: Error): string {
  return cause.message === '' ? cause.name : cause.message
}
