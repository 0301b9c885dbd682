import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import * as https from 'node:https'
import type { Duplex } from 'node:stream'

/** One masked frame, as clients send it. @source RFC 6455 section 5.2 */
export function clientFrame(
  opcode: number,
  payload: string,
  options: { readonly last?: boolean } = {},
): Buffer {
  const bytes = Buffer.from(payload, 'latin1')
  const mask = Buffer.from([0x11, 0x22, 0x33, 0x44])
  const first = ((options.last ?? true) ? 0x80 : 0) | opcode
  const length =
    bytes.length < 126
      ? Buffer.from([0x80 | bytes.length])
      : bytes.length < 2 ** 16
        ? Buffer.from([0xfe, bytes.length >>> 8, bytes.length & 0xff])
        : Buffer.from([0xff, 0, 0, 0, 0, ...Buffer.from(new Uint32Array([bytes.length]).buffer).reverse()])
  const masked = bytes.map((byte, at) => byte ^ (mask[at % 4] ?? 0))
  return Buffer.concat([Buffer.from([first]), length, mask, masked])
}

export type ServerFrame = { readonly opcode: number; readonly payload: Buffer }

/** A WebSocket client that exposes every frame it receives. */
export class WebSocketClient {
  readonly response: IncomingMessage
  readonly socket: Duplex
  readonly frames: ServerFrame[] = []
  ended = false
  #bytes: Buffer

  constructor(response: IncomingMessage, socket: Duplex, head: Buffer) {
    this.response = response
    this.socket = socket
    this.#bytes = head
    socket.on('error', () => undefined)
    socket.on('data', (bytes: Buffer) => {
      this.#bytes = Buffer.concat([this.#bytes, bytes])
      this.#read()
    })
    socket.on('end', () => {
      this.ended = true
    })
    this.#read()
  }

  /** Texts received so far. */
  get texts(): readonly string[] {
    return this.frames.filter(({ opcode }) => opcode === 1).map(({ payload }) => payload.toString())
  }

  /** The code of the close frame; null without one. */
  get closedWith(): number | null {
    return this.frames.find(({ opcode }) => opcode === 8)?.payload.readUInt16BE(0) ?? null
  }

  #read(): void {
    while (this.#bytes.length >= 2) {
      const short = (this.#bytes[1] ?? 0) & 0x7f
      const head = short < 126 ? 2 : short === 126 ? 4 : 10
      if (this.#bytes.length < head) return
      const length =
        head === 2 ? short : head === 4 ? this.#bytes.readUInt16BE(2) : Number(this.#bytes.readBigUInt64BE(2))
      if (this.#bytes.length < head + length) return
      const payload = Buffer.from(this.#bytes.subarray(head, head + length))
      this.frames.push({ opcode: (this.#bytes[0] ?? 0) & 0x0f, payload })
      this.#bytes = this.#bytes.subarray(head + length)
    }
  }
}

const handshake = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
}

/** @returns the HTTP response if the server refuses the upgrade */
export async function askForWebSocket(
  url: string,
  options: https.RequestOptions,
  headers: Readonly<Record<string, string>> = {},
): Promise<WebSocketClient | IncomingMessage> {
  const request = https.request(url, { agent: false, ...options, headers: { ...handshake, ...headers } })
  request.end()
  const upgraded = once(request, 'upgrade') as Promise<[IncomingMessage, Duplex, Buffer]>
  const answered = once(request, 'response') as Promise<[IncomingMessage]>
  const [response, socket, head] = await Promise.race([upgraded, answered.then(([one]) => [one] as const)])
  upgraded.catch(() => undefined)
  answered.catch(() => undefined)
  return socket === undefined || head === undefined ? response : new WebSocketClient(response, socket, head)
}
