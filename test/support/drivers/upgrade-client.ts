import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'

export type Upgraded = {
  readonly response: IncomingMessage
  readonly socket: Duplex
  /** Returns the bytes after the 101, so far. */
  readonly received: () => string
  readonly isClosed: () => boolean
}

export type NotUpgraded = {
  readonly status: number
  readonly text: string
  readonly response: IncomingMessage
}

/** Sends a request with `Upgrade`. @returns the response if the server does not upgrade */
export async function askForUpgrade(
  url: string,
  {
    method = 'POST',
    headers = {},
  }: { readonly method?: string; readonly headers?: Readonly<Record<string, string>> },
): Promise<Upgraded | NotUpgraded> {
  const asked = { connection: 'Upgrade', upgrade: 'SPDY/3.1', ...headers }
  const request = httpRequest(url, { method, agent: false, headers: asked })
  request.end()
  const upgraded = once(request, 'upgrade') as Promise<[IncomingMessage, Duplex, Buffer]>
  const answered = once(request, 'response') as Promise<[IncomingMessage]>
  const [response, socket, head] = await Promise.race([upgraded, answered.then(([one]) => [one] as const)])
  upgraded.catch(() => undefined)
  answered.catch(() => undefined)
  if (socket === undefined || head === undefined) {
    const chunks: Buffer[] = []
    for await (const chunk of response) chunks.push(chunk as Buffer)
    return { status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString(), response }
  }
  let received = head.toString('latin1')
  let isClosed = false
  socket.on('error', () => undefined)
  socket.on('data', (bytes: Buffer) => (received += bytes.toString('latin1')))
  socket.on('close', () => (isClosed = true))
  // When the server ends its side, this side ends, too.
  socket.on('end', () => socket.end())
  return { response, socket, received: () => received, isClosed: () => isClosed }
}
