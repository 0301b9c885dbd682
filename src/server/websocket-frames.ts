import type { Encoding } from '../api/codec/document.ts'

/** What a client said that needs an answer. */
export type ClientFrame =
  | { readonly kind: 'ping'; readonly payload: Uint8Array }
  | { readonly kind: 'close' }
  /** Nothing behind it is read. @param code to close with */
  | { readonly kind: 'broken'; readonly code: 1002 | 1009 }

/** One message of a client, which has nothing to say on a watch. When larger: the connection is closed with 1009. */
const messageBytesMax = 64 * 1024

/**
 * Reads the frames of a client as they arrive, in any pieces. Messages are skipped, not kept: all that is ever held is the
 * payload of one control frame, 125 bytes at most.
 *
 * @source RFC 6455 section 5; no extension is agreed to, so no reserved bit may be set
 */
export class FrameReader {
  readonly #head = Buffer.alloc(14)
  #headLength = 0
  /** Of the frame that is being read; null: its head is not complete. */
  #frame: Frame | null = null
  readonly #payload = Buffer.alloc(controlBytesMax)
  #payloadRead = 0
  /** Of the message that is being read, when it comes in fragments. */
  #messageBytes: number | null = null
  #ended = false

  /** What these bytes complete, in order. After a `close` or `broken`: nothing any more. */
  read(bytes: Uint8Array): ClientFrame[] {
    const frames: ClientFrame[] = []
    let at = 0
    while (!this.#ended) {
      if (this.#frame === null) {
        if (at >= bytes.length) break
        this.#head[this.#headLength++] = bytes[at++] ?? 0
        this.#frame = this.#completeHead(frames)
        continue
      }
      const length = Math.min(bytes.length - at, this.#frame.length - this.#payloadRead)
      if (isControl(this.#frame.opcode)) this.#payload.set(bytes.subarray(at, at + length), this.#payloadRead)
      at += length
      this.#payloadRead += length
      if (this.#payloadRead < this.#frame.length) break
      this.#complete(this.#frame, frames)
      this.#frame = null
      this.#headLength = 0
      this.#payloadRead = 0
    }
    return frames
  }

  /** @returns null: more bytes are needed, or what came is refused */
  #completeHead(frames: ClientFrame[]): Frame | null {
    const head = this.#head
    if (this.#headLength < 2) return null
    const [first, second] = [head.readUInt8(0), head.readUInt8(1)]
    const opcode = first & 0x0f
    const last = (first & 0x80) !== 0
    // Clients mask what they send, and nothing was agreed on that gives the other bits a meaning.
    if ((first & 0x70) !== 0 || (second & 0x80) === 0) return this.#break(frames, 1002)
    if (!this.#isExpected(opcode, last, second & 0x7f)) return this.#break(frames, 1002)
    const lengthBytes = lengthBytesOf(second & 0x7f)
    if (this.#headLength < 2 + lengthBytes + 4) return null
    const length =
      lengthBytes === 0
        ? second & 0x7f
        : lengthBytes === 2
          ? head.readUInt16BE(2)
          : head.readUInt32BE(2) * 2 ** 32 + head.readUInt32BE(6)
    if (!isControl(opcode)) {
      this.#messageBytes = (this.#messageBytes ?? 0) + length
      if (this.#messageBytes > messageBytesMax) return this.#break(frames, 1009)
    }
    return { opcode, last, length, mask: head.subarray(2 + lengthBytes, 6 + lengthBytes) }
  }

  /**
   * Control frames are short and whole, and a code of a close has two bytes; a message begins once and is continued until
   * its last frame.
   */
  #isExpected(opcode: number, last: boolean, length: number): boolean {
    if (opcode === opcodes.close && length === 1) return false
    if (isControl(opcode)) return opcode <= opcodes.pong && last && length <= controlBytesMax
    return opcode === opcodes.continuation
      ? this.#messageBytes !== null
      : opcode <= opcodes.binary && this.#messageBytes === null
  }

  #complete({ opcode, last, mask }: Frame, frames: ClientFrame[]): void {
    if (opcode === opcodes.close) {
      this.#ended = true
      frames.push({ kind: 'close' })
    } else if (opcode === opcodes.ping) {
      const payload = Buffer.from(this.#payload.subarray(0, this.#payloadRead))
      for (let at = 0; at < payload.length; at++) payload[at] = (payload[at] ?? 0) ^ (mask[at % 4] ?? 0)
      frames.push({ kind: 'ping', payload })
    } else if (!isControl(opcode) && last) this.#messageBytes = null
  }

  #break(frames: ClientFrame[], code: 1002 | 1009): null {
    this.#ended = true
    frames.push({ kind: 'broken', code })
    return null
  }
}

type Frame = {
  readonly opcode: number
  readonly last: boolean
  readonly length: number
  /** A view on the head, good as long as the frame is read. */
  readonly mask: Uint8Array
}

const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const
const controlBytesMax = 125

function isControl(opcode: number): boolean {
  return opcode >= opcodes.close
}

function lengthBytesOf(short: number): 0 | 2 | 8 {
  if (short < 126) return 0
  return short === 126 ? 2 : 8
}

/**
 * Events as messages, one each: text, or bytes for protobuf, which need no length in front of them any more.
 * @param piece whole events, as a watch has them; a newline at the end stays, as upstream has it
 */
export function eventFrames(piece: Uint8Array, encoding: Encoding): Uint8Array {
  const bytes = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength)
  const opcode = encoding === 'protobuf' ? opcodes.binary : opcodes.text
  const parts: Uint8Array[] = []
  for (let from = 0; from < bytes.length;) {
    const event = eventAt(bytes, from, encoding)
    parts.push(frameHead(opcode, event.to - event.from), bytes.subarray(event.from, event.to))
    from = event.to
  }
  return Buffer.concat(parts)
}

function eventAt(
  bytes: Buffer,
  from: number,
  encoding: Encoding,
): { readonly from: number; readonly to: number } {
  if (encoding === 'protobuf') return { from: from + 4, to: from + 4 + bytes.readUInt32BE(from) }
  const end = encoding === 'json' ? bytes.indexOf(0x0a, from) : bytes.indexOf(yamlBoundary, from)
  return { from, to: end === -1 ? bytes.length : end + 1 }
}

const yamlBoundary = '\n---\n'

export function pongFrame(payload: Uint8Array): Uint8Array {
  return Buffer.concat([frameHead(opcodes.pong, payload.length), payload])
}

/** @param code of RFC 6455 section 7.4.1 */
export function closeFrame(code: 1000 | 1001 | 1002 | 1009 | 1011): Uint8Array {
  return Buffer.concat([frameHead(opcodes.close, 2), Buffer.from([code >>> 8, code & 0xff])])
}

/** Of a whole message; a server masks nothing. */
function frameHead(opcode: number, length: number): Uint8Array {
  const first = 0x80 | opcode
  if (length < 126) return Buffer.from([first, length])
  if (length < 2 ** 16) return Buffer.from([first, 126, length >>> 8, length & 0xff])
  const head = Buffer.alloc(10)
  head.writeUInt8(first, 0)
  head.writeUInt8(127, 1)
  head.writeBigUInt64BE(BigInt(length), 2)
  return head
}
