import { BinaryWriter } from '@bufbuild/protobuf/wire'
import type { ChannelCredentials, Client, ClientDuplexStream, ServiceError } from '@grpc/grpc-js'
import type { Clock, Timer } from '../../base/clock.ts'
import type { Random } from '../../base/random.ts'
import { noIndex } from '../core/types.ts'
import type { LogIndex, MemberInfo } from '../core/types.ts'
import type { PeerMessage } from '../ports.ts'
import { asBuffer, asIs, dial, closeClient } from './dialing.ts'
import { TransportError } from './errors.ts'
import type { LinkMeasure, TransportCounters, TransportEvent } from './events.ts'
import { decodeWelcome, encodeHelloFrame, encodeMessagesFrame } from './frame-codec.ts'
import type { Hello } from './frame-codec.ts'
import { areApart, otherCluster } from './handshake.ts'
import { protocolOf } from './message-codec.ts'
import { method } from './options.ts'
import type { TransportLimits } from './options.ts'
import { OutboundQueue } from './outbound-queue.ts'
import { protocolNewest, protocolOldest } from './protocol-version.ts'
import { removedIndexOf, failureOf } from './status.ts'

export type PeerLinkOptions = {
  readonly peer: MemberInfo
  /** Returns the current hello. */
  readonly hello: () => Hello
  /** Returns the current credentials: they may be renewed between two attempts. */
  readonly credentials: () => ChannelCredentials
  readonly limits: TransportLimits
  readonly clock: Clock
  readonly random: Random
  readonly counters: TransportCounters
  /** Called when messages to the peer are being lost, never within a call of this link. */
  readonly onUnreachable: () => void
  /** Called when `isUnanswered` may have changed. */
  readonly onAttempt: () => void
  /**
   * Called when the peer reports that the committed configuration at that index does not contain
   * this member.
   */
  readonly onRemovedByPeer: (configurationIndex: LogIndex) => void
  readonly onEvent: (event: TransportEvent) => void
}

/** One attempt to reach the peer, from dialing to its end. */
type Attempt = {
  readonly client: Client
  readonly stream: ClientDuplexStream<Buffer, Buffer>
  readonly timer: Timer
}

type State =
  | { readonly kind: 'dialing'; readonly attempt: Attempt }
  | { readonly kind: 'up'; readonly attempt: Attempt }
  | { readonly kind: 'waiting'; readonly timer: Timer; readonly refused: boolean }
  | { readonly kind: 'closed' }

/**
 * The link to one peer:
 *
 *   dialing ──welcome──> up ──broke──> waiting ──backoff──> dialing
 *
 * If an attempt fails, the link goes from dialing to waiting. It takes messages only while it is
 * up; otherwise, or when its queue is full, it drops them and reports the peer unreachable. Each
 * attempt has its own connection, because a reused one would add the backoff of gRPC to that of the
 * link.
 */
export class PeerLink {
  readonly peer: MemberInfo
  readonly #options: PeerLinkOptions
  readonly #queue: OutboundQueue
  #writer = new BinaryWriter()
  /** The protocol version that the peer chose in its last welcome. */
  #protocol: number = protocolOldest
  #state: State = { kind: 'closed' }
  #failures = 0
  #lastCause = ''
  #flushing = false
  /** Bytes given to gRPC that the connection has not accepted yet. */
  #writing = 0
  /** gRPC requested a pause. */
  #paused = false
  #unreachableAtMs = Number.NEGATIVE_INFINITY
  #upAtMs = 0
  #isUnanswered = false

  constructor(options: PeerLinkOptions) {
    this.#options = options
    this.peer = options.peer
    this.#queue = new OutboundQueue(options.limits)
    this.#begin()
  }

  offer(message: PeerMessage): void {
    if (this.#state.kind === 'up' && protocolOf(message) > this.#protocol) {
      // The peer runs an older program. The requester retries until its deadline.
      this.#options.counters.messagesDropped++
      return
    }
    if (this.#state.kind !== 'up' || !this.#queue.offer(message)) {
      this.#options.counters.messagesDropped++
      this.#reportUnreachable()
      return
    }
    if (this.#flushing) return
    // Sent at the end of the caller's turn, so that its messages to this peer share a frame.
    this.#flushing = true
    queueMicrotask(() => this.#flush())
  }

  /** Whether the last attempt to connect failed because the peer was unreachable. */
  get isUnanswered(): boolean {
    return this.#isUnanswered
  }

  measure(): LinkMeasure {
    return {
      name: this.peer.name,
      up: this.#state.kind === 'up',
      queuedMessages: this.#queue.size,
      queuedBytes: this.#queue.bytes + this.#writing,
    }
  }

  /**
   * Ends the backoff, because the peer has just connected to this member. The backoff after a
   * refusal continues.
   */
  retryNow(): void {
    if (this.#state.kind !== 'waiting' || this.#state.refused) return
    this.#state.timer.cancel()
    this.#begin()
  }

  close(): void {
    const state = this.#state
    this.#state = { kind: 'closed' }
    this.#queue.clear()
    if (state.kind === 'waiting') state.timer.cancel()
    else if (state.kind !== 'closed') this.#abandon(state.attempt)
  }

  /** Dials the peer. An invalid address is treated like an unreachable one. */
  #begin(): void {
    try {
      this.#state = { kind: 'dialing', attempt: this.#dial() }
    } catch (cause) {
      const reason = `${JSON.stringify(this.peer.peerAddress)} is not a valid address`
      this.#wait(new TransportError('unreachable', reason, { cause }), false)
    }
  }

  #dial(): Attempt {
    const { peer, credentials, limits, clock, hello } = this.#options
    const client = dial(peer, credentials(), limits)
    const stream = client.makeBidiStreamRequest(method.messages, asIs, asIs)
    const timer = clock.after(limits.connectTimeoutMs, () => {
      this.#broke(attempt, new TransportError('unreachable', 'no answer in time'))
    })
    const attempt = { client, stream, timer }
    stream.on('data', (bytes: Buffer) => this.#acceptWelcome(attempt, bytes))
    stream.on('error', (error: ServiceError) => {
      const removedIndex = removedIndexOf(error)
      if (removedIndex > noIndex && this.#isCurrent(attempt)) this.#options.onRemovedByPeer(removedIndex)
      this.#broke(attempt, failureOf(error))
    })
    stream.on('end', () => this.#broke(attempt, new TransportError('unreachable', 'the peer ended the link')))
    stream.on('drain', () => {
      if (!this.#isCurrent(attempt)) return
      this.#paused = false
      this.#flush()
    })
    stream.write(asBuffer(encodeHelloFrame(hello())))
    return attempt
  }

  #acceptWelcome(attempt: Attempt, bytes: Buffer): void {
    if (this.#state.kind !== 'dialing' || !this.#isCurrent(attempt)) return
    try {
      const { protocol, identity } = decodeWelcome(bytes)
      if (protocol < protocolOldest || protocol > protocolNewest) {
        const known = `${protocolOldest} to ${protocolNewest}`
        throw new TransportError(
          'refused',
          `the peer responds with protocol ${protocol}, not with one of ${known}`,
        )
      }
      const own = this.#options.hello().identity
      if (areApart(identity, own)) {
        throw new TransportError('refused', otherCluster(this.peer.name, identity, own))
      }
      this.#protocol = protocol
    } catch (cause) {
      this.#broke(attempt, cause instanceof TransportError ? cause : failedWelcome(cause))
      return
    }
    attempt.timer.cancel()
    this.#state = { kind: 'up', attempt }
    this.#upAtMs = this.#options.clock.monotonicMs()
    this.#failures = 0
    this.#lastCause = ''
    this.#writing = 0
    this.#paused = false
    const { id: peer, name, peerAddress: address } = this.peer
    this.#options.counters.linksOpened++
    this.#options.onEvent({ kind: 'link-up', peer, name, address })
    this.#attempted(false)
  }

  #attempted(isUnanswered: boolean): void {
    this.#isUnanswered = isUnanswered
    this.#options.onAttempt()
  }

  #isCurrent(attempt: Attempt): boolean {
    return 'attempt' in this.#state && this.#state.attempt === attempt
  }

  #broke(attempt: Attempt, failure: TransportError): void {
    if (!this.#isCurrent(attempt)) return
    this.#abandon(attempt)
    this.#wait(failure, this.#state.kind === 'up')
  }

  #wait(failure: TransportError, wasUp: boolean): void {
    const refused = failure.code === 'refused'
    const isUnreachable = failure.code === 'unreachable'
    const isNew = isUnreachable && wasUp && this.#wasUpLong
    const delayMs = isNew ? this.#options.limits.redialMs : this.#backoffMs(refused)
    const timer = this.#options.clock.after(delayMs, () => {
      if (this.#state.kind === 'waiting' && this.#state.timer === timer) this.#begin()
    })
    this.#state = { kind: 'waiting', timer, refused }
    this.#options.counters.messagesDropped += this.#queue.size
    this.#queue.clear()
    if (wasUp || failure.message !== this.#lastCause) {
      this.#lastCause = failure.message
      const { id: peer, name } = this.peer
      this.#options.onEvent({ kind: 'link-down', peer, name, code: failure.code, cause: failure.message })
    }
    if (wasUp) this.#reportUnreachable()
    this.#attempted(isUnreachable && !wasUp)
  }

  /** Whether the link was up for so long that a break is not one of many. */
  get #wasUpLong(): boolean {
    const { clock, limits } = this.#options
    return clock.monotonicMs() - this.#upAtMs >= limits.backoffMsMax
  }

  /**
   * Returns the delay before the next attempt. It doubles with each failure up to a maximum; after
   * a refusal it is the maximum. Half of the delay is random, so that members do not dial at the
   * same times.
   */
  #backoffMs(refused: boolean): number {
    const { backoffMsMin, backoffMsMax } = this.#options.limits
    const doubled = backoffMsMin * 2 ** Math.min(this.#failures++, 20)
    const wholeMs = refused ? backoffMsMax : Math.min(backoffMsMax, doubled)
    return Math.ceil(wholeMs / 2) + this.#options.random.below(Math.floor(wholeMs / 2) + 1)
  }

  #flush(): void {
    this.#flushing = false
    const { limits, counters } = this.#options
    while (this.#queue.size > 0 && this.#state.kind === 'up') {
      if (this.#paused || this.#writing >= limits.writeWindowBytesMax) return
      const { attempt } = this.#state
      const messages = this.#queue.takeFrame()
      const frame = this.#encode(messages)
      if (frame === null) continue
      this.#writing += frame.byteLength
      counters.framesSent++
      counters.messagesSent += messages.length
      counters.bytesSent += frame.byteLength
      this.#paused = !attempt.stream.write(frame, () => {
        if (!this.#isCurrent(attempt)) return
        this.#writing -= frame.byteLength
        if (this.#queue.size > 0) this.#flush()
      })
    }
  }

  /** Encodes a frame. Returns null when the frame is larger than any receiver accepts. */
  #encode(messages: readonly PeerMessage[]): Buffer | null {
    const frame = asBuffer(encodeMessagesFrame(this.#writer, messages))
    // The writer keeps its memory between frames, except after a large one.
    if (frame.byteLength > this.#options.limits.frameBytesMax) this.#writer = new BinaryWriter()
    if (frame.byteLength <= this.#options.limits.messageBytesMax) return frame
    this.#options.counters.messagesDropped += messages.length
    this.#options.onEvent({ kind: 'too-large', peer: this.peer.id, bytes: frame.byteLength })
    return null
  }

  #abandon(attempt: Attempt): void {
    attempt.timer.cancel()
    attempt.stream.cancel()
    closeClient(attempt.client, this.#options.clock)
  }

  /** Reports the peer unreachable, at most once in an interval, and never within the call. */
  #reportUnreachable(): void {
    const now = this.#options.clock.monotonicMs()
    if (now - this.#unreachableAtMs < this.#options.limits.unreachableMsMin) return
    this.#unreachableAtMs = now
    queueMicrotask(() => {
      if (this.#state.kind !== 'closed') this.#options.onUnreachable()
    })
  }
}

function failedWelcome(cause: unknown): TransportError {
  return new TransportError('malformed', 'the response of the peer cannot be decoded', { cause })
}
