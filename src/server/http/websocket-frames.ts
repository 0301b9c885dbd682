import type { Encoding } from '../../api/codec/document.ts'

/** A client frame that needs a reaction. */
export type ClientFrame =
  | { readonly kind: 'ping'; readonly payload: Uint8Array }
  | { readonly kind: 'close' }
  /**
   * A frame that violates the protocol, or is too large. Nothing after it is read.
   * @param code to close with
   */
  | { readonly kind: 'broken'; readonly code: 1002 | 1009 }

/**
 * Maximum size of a message of a client; a watch needs no such messages. When larger: the
 * connection is closed with 1009.
 */
const messageBytesMax = 64 * 1024

/**
 * Reads the frames of a client as they arrive, in any fragmentation. Messages are skipped, not
 * stored: only the payload of one control frame is held, 125 bytes at most.
 *
 * @source RFC 6455 section 5; no extension is negotiated, so no reserved bit may be set
 */
export class FrameReader {
  readonly #head = Buffer.alloc(14)
  #headLength = 0
  /** The frame being read; null: its header is incomplete. */
  #frame: Frame | null = null
  readonly #payload = Buffer.alloc(controlBytesMax)
  #payloadRead = 0
  /** Bytes of the fragmented message being read; null: none. */
  #messageBytes: number | null = null
  #ended = false

  /** Returns the frames that these bytes complete, in order; none after a `close` or `broken`. */
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

  /** @returns null: more bytes are needed, or the frame was rejected */
  #completeHead(frames: ClientFrame[]): Frame | null {
    const head = this.#head
    if (this.#headLength < 2) return null
    const [first, second] = [head.readUInt8(0), head.readUInt8(1)]
    const opcode = first & 0x0f
    const last = (first & 0x80) !== 0
    // Clients mask their frames, and no extension gives the other bits a meaning.
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
   * Whether a frame is valid at this point: control frames are short and unfragmented, and a close
   * code has two bytes; a message begins once and is continued until its last frame.
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
  /** A view on the header, valid while the frame is read. */
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
 * Returns events as messages, one each: text, or bytes for protobuf, which need no length prefix
 * here.
 * @param piece whole events; a newline at the end stays, as upstream has it
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

/** Returns the header of an unfragmented message; servers do not mask. */
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
