import { assertNever } from '../../base/assert.ts'
import { BoundedQueue } from '../../base/bounded-queue.ts'
import { entryBytes } from '../core/types.ts'
import type { PeerMessage } from '../ports.ts'
import { frameMessagesMax } from './options.ts'
import type { TransportLimits } from './options.ts'

/** Messages for one peer in order, limited in number and bytes, taken out a frame at a time. */
export class OutboundQueue {
  readonly #limits: TransportLimits
  readonly #queue: BoundedQueue<PeerMessage>
  #bytes = 0

  constructor(limits: TransportLimits) {
    this.#limits = limits
    this.#queue = new BoundedQueue(limits.queueMessagesMax)
  }

  get size(): number {
    return this.#queue.size
  }

  get bytes(): number {
    return this.#bytes
  }

  /** @returns false when full; the message was not taken */
  offer(message: PeerMessage): boolean {
    const bytes = peerMessageBytes(message)
    // One message of any size fits an empty queue: `messageBytesMax` is checked when it is encoded.
    if (this.#queue.size > 0 && this.#bytes + bytes > this.#limits.queueBytesMax) return false
    if (!this.#queue.offer(message)) return false
    this.#bytes += bytes
    return true
  }

  /**
   * Returns the oldest messages, as many as fit one frame and at least one. The queue must not be
   * empty.
   */
  takeFrame(): PeerMessage[] {
    const frame: PeerMessage[] = []
    let bytes = 0
    for (;;) {
      const next = this.#queue.peek()
      if (next === undefined || frame.length >= frameMessagesMax) return frame
      const nextBytes = peerMessageBytes(next)
      if (frame.length > 0 && bytes + nextBytes > this.#limits.frameBytesMax) return frame
      this.#queue.poll()
      this.#bytes -= nextBytes
      bytes += nextBytes
      frame.push(next)
    }
  }

  clear(): void {
    this.#queue.clear()
    this.#bytes = 0
  }
}

/** Returns the approximate encoded size of the message. */
function peerMessageBytes(message: PeerMessage): number {
  const envelope = 64
  switch (message.kind) {
    case 'core':
      if (message.message.kind !== 'append-request') return envelope
      return message.message.entries.reduce((sum, entry) => sum + entryBytes(entry), envelope)
    case 'forward':
      return message.proposals.reduce((sum, proposal) => sum + proposal.byteLength + 8, envelope)
    case 'forward-refused':
      return envelope + 24 * message.proposals.length
    case 'read-request':
    case 'read-response':
    case 'state-wanted':
    case 'entries-wanted':
    case 'transfer-wanted':
    case 'transfer-refused':
    case 'members-wanted':
      return envelope
    case 'founding':
      return 3 * envelope
    case 'change-wanted':
    case 'change-answer':
    case 'members':
      // At most one configuration, which is rarely larger; such messages are few.
      return 64 * envelope
    case 'entries-sent':
      return message.entries.reduce((sum, entry) => sum + entryBytes(entry), envelope)
    case 'report':
      return envelope + message.bytes.byteLength
    default:
      assertNever(message)
  }
}
