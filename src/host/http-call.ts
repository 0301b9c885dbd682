import { request as httpRequest } from 'node:http'
import type { Agent, IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'

export type HttpCall = {
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string | number>>
  readonly body: Uint8Array | null
  /** A longer response is an error. */
  readonly responseBytesMax: number
  /** Ends the call; a timeout is reported as such. */
  readonly signal: AbortSignal
  /** Keeps connections, and knows the keys for them. Unset: a connection for this call alone. */
  readonly agent?: Agent
  /** PEM, for a call without an agent. Unset: what the system trusts, and no identity. */
  readonly tls?: { readonly ca: string; readonly cert?: string; readonly key?: string }
}

export type HttpResult =
  | { readonly kind: 'response'; readonly status: number; readonly body: Buffer }
  /** @param why one line @param code of the system or of TLS; empty: none */
  | { readonly kind: 'failed'; readonly why: string; readonly code: string }

/** Sends one request and receives the whole response, within limits. Never rejects. */
export function httpCall(url: URL, call: HttpCall): Promise<HttpResult> {
  const { method, body, agent, tls, signal } = call
  const length = body === null ? {} : { 'content-length': body.byteLength }
  const headers = { ...call.headers, ...length }
  const send = url.protocol === 'http:' ? httpRequest : httpsRequest
  return new Promise((resolve) => {
    const fail = (cause: Error): void => resolve(failureOf(cause))
    const outgoing = send(url, { ...tls, method, headers, signal, agent: agent ?? false })
    outgoing.on('error', fail)
    outgoing.on('response', (incoming: IncomingMessage) => {
      const chunks: Buffer[] = []
      let bytes = 0
      incoming.on('data', (chunk: Buffer) => {
        bytes += chunk.byteLength
        if (bytes > call.responseBytesMax) outgoing.destroy(new Error('the response is too large'))
        else chunks.push(chunk)
      })
      incoming.on('error', fail)
      incoming.on('end', () =>
        resolve({ kind: 'response', status: incoming.statusCode ?? 0, body: Buffer.concat(chunks) }),
      )
    })
    outgoing.end(body ?? undefined)
  })
}

function failureOf(cause: Error): HttpResult {
  const code = 'code' in cause ? String(cause.code) : ''
  const line = cause.message.split('\n')[0]
  const isLate = cause.cause instanceof Error && cause.cause.name === 'TimeoutError'
  const why = isLate ? 'no response in time' : line || code || cause.name
  return { kind: 'failed', why, code }
}
