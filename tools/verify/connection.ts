import { Agent as HttpAgent, request as httpRequest } from 'node:http'
import type { ClientRequest, IncomingMessage, RequestOptions } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import type { Socket } from 'node:net'
import type { Clock } from '../../base/clock.ts'
import { credentialHeaders, headerRecord, withCredentials } from '../../src/credentials/credentials.ts'
import type { ClientIdentity, Credentials } from '../../src/credentials/credentials.ts'
import { tlsOptions } from '../../src/credentials/endpoint.ts'
import type { Endpoint, ResolvedEndpoint, Server } from '../../src/credentials/endpoint.ts'
import { CredentialError } from '../../src/credentials/errors.ts'
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

/** Number of this connection among all that this process has opened; 0: none was opened. */
function numberOf(socket: Socket | null): number {
  if (socket === null) return 0
  let number = socketNumbers.get(socket)
  if (number === undefined) socketNumbers.set(socket, (number = ++sockets))
  return number
}

/**
 * A keep-alive connection to one endpoint, one request at a time. It reconnects after a failure,
 * and when the client certificate changes.
 */
export class Connection {
  readonly endpoint: Endpoint
  readonly #clock: Clock
  #agent: HttpAgent
  #identity: ClientIdentity | null = null

  constructor(endpoint: Endpoint, clock: Clock) {
    this.endpoint = endpoint
    this.#clock = clock
    this.#agent = agentFor(endpoint)
  }

  /**
   * Sends a request, and once again with other credentials after a 401. Failures of the network and
   * of credentials are returned.
   *
   * @param timeoutMs time limit of one request; obtaining credentials is not part of it
   */
  async ask(requested: HttpCall, timeoutMs: number): Promise<Reply> {
    try {
      return await withCredentials(
        this.endpoint.credentials,
        (credentials) => this.#send(requested, credentials, timeoutMs),
        (reply) => reply.kind === 'reply' && reply.status === 401,
      )
    } catch (cause) {
      if (cause instanceof CredentialError) return { kind: 'none', why: cause.message, connection: 0 }
      throw cause
    }
  }

  #send(requested: HttpCall, credentials: Credentials, timeoutMs: number): Promise<Reply> {
    this.#reconnectFor(credentials)
    return new Promise((resolve) => {
      const outgoing = send({ ...this.endpoint, credentials }, requested, this.#agent)
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

  /** TLS presents a certificate only when a connection begins. */
  #reconnectFor({ identity }: Credentials): void {
    if (identity === this.#identity) return
    this.#identity = identity
    this.#agent.destroy()
    this.#agent = agentFor(this.endpoint)
  }
}

function agentFor(endpoint: Endpoint): HttpAgent {
  const options = { keepAlive: true, maxSockets: 1 }
  return isTls(endpoint) ? new HttpsAgent(options) : new HttpAgent(options)
}

/** A stream of lines on a connection of its own. @throws the error that broke the connection */
export class LineStream {
  readonly #endpoint: Endpoint
  readonly #path: string
  readonly #response: Promise<IncomingMessage>
  #outgoing: ClientRequest | null = null
  #isClosed = false

  constructor(endpoint: Endpoint, path: string) {
    this.#endpoint = endpoint
    this.#path = path
    this.#response = withCredentials(
      endpoint.credentials,
      (credentials) => this.#open(credentials),
      ({ statusCode }) => statusCode === 401,
    )
    this.#response.catch(() => undefined)
  }

  #open(credentials: Credentials): Promise<IncomingMessage> {
    // The request that was answered with 401, if there was one.
    this.#outgoing?.destroy()
    return new Promise((resolve, reject) => {
      if (this.#isClosed) throw new Error('closed')
      const requested = { method: 'GET', path: this.#path, body: null } as const
      const outgoing = send({ ...this.#endpoint, credentials }, requested, undefined)
      this.#outgoing = outgoing
      outgoing.on('response', resolve)
      outgoing.on('error', reject)
      outgoing.on('close', () => reject(new Error('closed')))
    })
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
    this.#isClosed = true
    this.#outgoing?.destroy()
  }
}

function send(endpoint: ResolvedEndpoint, requested: HttpCall, agent: HttpAgent | undefined): ClientRequest {
  const { credentials } = endpoint
  const headers: Record<string, string | string[]> = {
    accept: 'application/json',
    ...headerRecord(credentialHeaders(credentials)),
  }
  if (requested.consistency !== undefined) headers['orch-consistency'] = requested.consistency
  if (requested.body !== null) {
    headers['content-type'] = 'application/json'
    headers['content-length'] = String(Buffer.byteLength(requested.body))
  }
  const options: RequestOptions = { method: requested.method, headers, agent: agent ?? false }
  const url = new URL(endpoint.url.replace(/\/$/, '') + requested.path)
  const outgoing = isTls(endpoint)
    ? httpsRequest(url, { ...options, ...tlsOptions(endpoint, credentials) })
    : httpRequest(url, options)
  outgoing.setNoDelay(true)
  outgoing.end(requested.body ?? undefined)
  return outgoing
}

function isTls({ url }: Server): boolean {
  return url.startsWith('https:')
}

function wordsOf(cause: Error): string {
  return cause.message === '' ? cause.name : cause.message
}
