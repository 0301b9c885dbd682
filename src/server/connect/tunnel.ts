import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { ApiError } from '../../api/errors/api-error.ts'
import { badRequest } from '../../api/errors/standard-errors.ts'
import type { Call } from '../calls/call.ts'
import { asksForWebSocket, isOwnOrigin } from '../http/websocket-handshake.ts'
import { sendBytes, writeHead } from '../responses/wire.ts'
import type { ReplyHeaders } from '../responses/wire.ts'
import type { WebSocketUpgrade } from '../responses/websocket-watch.ts'
import { bodyOf } from './backend-refusal.ts'
import { backendError } from './connection.ts'
import type { ConnectDependencies, Connection } from './connection.ts'

/**
 * Returns the connection of a request that wants to change the protocol.
 *
 * @throws ApiError `BadRequest` for another request; `Forbidden` for a page of another origin,
 * which can open a WebSocket with the client certificate of its user
 */
export function requireUpgrade(
  call: Call,
  { upgradeOf }: Pick<ConnectDependencies, 'upgradeOf'>,
): WebSocketUpgrade {
  const upgrade = upgradeOf(call.raw)
  if (upgrade === null) throw badRequest('Upgrade request required')
  const { headers } = call.raw
  if (
    asksForWebSocket(headers) &&
    call.authorization === undefined &&
    !isOwnOrigin(headers.origin, headers.host)
  ) {
    throw new ApiError(
      'Forbidden',
      'a page of another origin cannot use the client certificate of its user: it must send a bearer token',
    )
  }
  return upgrade
}

/** Headers of a response 101 that belong to the new protocol. */
const PROTOCOL_HEADERS = [
  ...['upgrade', 'sec-websocket-accept', 'sec-websocket-protocol', 'sec-websocket-extensions'],
  'x-stream-protocol-version',
] as const

/**
 * Passes bytes between the client and a backend that has changed the protocol, each as fast as the
 * other side reads them, until one of them closes, this server drains, or the caller loses its
 * credentials or a permission.
 */
export function answerTunnel(
  client: WebSocketUpgrade,
  backend: { readonly response: IncomingMessage; readonly socket: Duplex; readonly head: Buffer },
  call: Call,
): void {
  const { socket, head } = client
  const { reply } = call
  if (call.closed || reply.headersSent || socket.destroyed || 'stream' in reply) {
    backend.socket.destroy()
    return
  }
  const headers: ReplyHeaders = { 'audit-id': call.id, connection: 'Upgrade' }
  for (const name of PROTOCOL_HEADERS) {
    const value = backend.response.headers[name]
    if (value !== undefined) headers[name] = value
  }
  writeHead(reply, 101, headers)
  reply.flushHeaders()
  call.audit?.streamStarted()
  splice(client, backend, call)
  if (head.byteLength > 0) backend.socket.write(head)
}

function splice(
  { socket: client }: WebSocketUpgrade,
  { socket: backend, head }: { readonly socket: Duplex; readonly head: Buffer },
  call: Call,
): void {
  /** The client gets some time to read the last bytes, and to close. */
  const endClient = (): void => {
    backend.unpipe(client)
    client.unpipe(backend)
    if (client.writable) client.end()
    client.resume()
    call.noteBlocked()
  }
  const end = (): void => {
    endClient()
    backend.destroy()
  }
  call.endStream = end
  call.endSlow = () => {
    client.destroy()
    backend.destroy()
  }
  client.on('close', () => backend.destroy())
  client.on('end', () => {
    endClient()
    backend.end(() => backend.destroy())
  })
  backend.on('end', end)
  backend.on('close', endClient)
  if (head.byteLength > 0) client.write(head)
  backend.pipe(client, { end: false })
  client.pipe(backend, { end: false })
  if (backend.destroyed || call.lastOnConnection || call.isRevoked) end()
}

/**
 * Passes the refusal of a backend on: its status and the beginning of its body.
 *
 * @throws ApiError for a response that is no error, such as a redirect, which is not followed
 * @source apimachinery `pkg/util/proxy/upgradeaware.go`
 */
export async function answerRefusedUpgrade(
  response: IncomingMessage,
  { call, reply }: Pick<Connection, 'call' | 'reply'>,
  { clock }: Pick<ConnectDependencies, 'clock'>,
): Promise<void> {
  const status = response.statusCode ?? 0
  if (status < 400 || status > 599) {
    response.destroy()
    throw backendError(`invalid upgrade response: status code ${status}`)
  }
  const type = response.headers['content-type'] ?? 'text/plain; charset=utf-8'
  const bytes = await bodyOf(response, clock)
  reply.hijack()
  const headers: ReplyHeaders = {
    'audit-id': call.id,
    'content-type': type,
    'x-content-type-options': 'nosniff',
  }
  sendBytes(call.reply, call, call.raw.method, status, headers, bytes)
}
