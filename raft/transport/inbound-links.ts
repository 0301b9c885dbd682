import type { handleBidiStreamingCall, ServerDuplexStream } from '@grpc/grpc-js'
import { status } from '@grpc/grpc-js'
import type { Clock, Timer } from '../../base/clock.ts'
import type { NodeId } from '../core/types.ts'
import type { PeerMessage } from '../ports.ts'
import { asBuffer } from './dialing.ts'
import { TransportError } from './errors.ts'
import type { RefusalReason, TransportCounters } from './events.ts'
import { decodeLinkFrame, encodeWelcome } from './frame-codec.ts'
import type { Hello, LinkFrame } from './frame-codec.ts'
import { anotherProcess, refusalOf, validateHandshake } from './handshake.ts'
import type { HandshakeContext, Refusal } from './handshake.ts'
import type { TransportLimits } from './options.ts'
import { memberNameOf } from './peer-identity.ts'
import { commonProtocol, protocolOldest } from './protocol-version.ts'
import type { RefusalLog } from './refusal-log.ts'
import { refusalStatus } from './status.ts'

export type InboundLinksOptions = {
  readonly context: HandshakeContext
  readonly limits: TransportLimits
  readonly clock: Clock
  readonly counters: TransportCounters
  /**
   * Called when the handshake of a member was accepted.
   *
   * @param remote the other end, `address:port`
   */
  readonly onAccepted: (remote: string) => void
  readonly onMessage: (message: PeerMessage) => void
  /** Called when a member has connected, so it can probably be reached too. */
  readonly onPeer: (peer: NodeId) => void
  /** Called when the link of a member closed, and no newer one replaced it. */
  readonly onPeerGone: (peer: NodeId) => void
  readonly refusals: RefusalLog
}

type Stream = ServerDuplexStream<Buffer, Buffer>

/** The incoming links of peers, at most one of each: a newer link replaces the older one. */
export class InboundLinks {
  readonly #options: InboundLinksOptions
  readonly #links = new Map<NodeId, InboundLink>()

  constructor(options: InboundLinksOptions) {
    this.#options = options
  }

  readonly handle: handleBidiStreamingCall<Buffer, Buffer> = (stream) => {
    const link: InboundLink = new InboundLink(stream, this.#options, {
      processOf: (peer) => this.#links.get(peer)?.process ?? 0,
      onOpen: (peer) => {
        // A peer that connects again has abandoned its older stream.
        const older = this.#links.get(peer)
        this.#links.set(peer, link)
        older?.end(status.CANCELLED, 'a newer stream of this member replaced this one')
        this.#options.onPeer(peer)
      },
      onClose: (peer) => {
        if (this.#links.get(peer) !== link) return
        this.#links.delete(peer)
        this.#options.onPeerGone(peer)
      },
    })
  }

  has(peer: NodeId): boolean {
    return this.#links.has(peer)
  }

  /**
   * Closes the links of callers that are not members any more, or whose id belongs to another
   * member now.
   */
  sweep(): void {
    for (const [peer, link] of this.#links) {
      if (this.#options.context.peers.get(peer)?.name !== link.certified) {
        link.refuse('unknown-member', `"${String(link.certified)}" (${peer}) is not a member any more`)
      }
    }
  }

  /** Closes the link of a peer that sent an impossible message. */
  violated(peer: NodeId, violation: string): void {
    this.#options.counters.violations++
    this.#links.get(peer)?.refuse('violation', violation)
  }

  close(): void {
    for (const link of this.#links.values()) link.end(status.UNAVAILABLE, 'this member stops')
  }
}

type LinkHooks = {
  /** Returns the number of the process that is connected as that member; 0: none, or not known. */
  readonly processOf: (peer: NodeId) => number
  readonly onOpen: (peer: NodeId) => void
  readonly onClose: (peer: NodeId) => void
}

class InboundLink {
  /** The member that the caller's verified certificate names; null: none. */
  readonly certified: string | null
  readonly #stream: Stream
  readonly #options: InboundLinksOptions
  readonly #hooks: LinkHooks
  readonly #handshakeTimer: Timer
  /** The process number in the accepted hello; 0 before. */
  process = 0
  /** The caller, once accepted. */
  #peer: NodeId | null = null
  #hasHello = false
  #ended = false

  constructor(stream: Stream, options: InboundLinksOptions, hooks: LinkHooks) {
    this.#stream = stream
    this.#options = options
    this.#hooks = hooks
    this.certified = memberNameOf(stream.getAuthContext().sslPeerCertificate ?? {})
    this.#handshakeTimer = options.clock.after(options.limits.connectTimeoutMs, () => {
      this.end(status.DEADLINE_EXCEEDED, 'no hello in time')
    })
    stream.on('data', (bytes: Buffer) => this.#frame(bytes))
    stream.on('end', () => this.end(status.OK, ''))
    stream.on('cancelled', () => this.#over())
    stream.on('error', () => this.#over())
    stream.on('close', () => this.#over())
  }

  refuse(reason: RefusalReason, detail: string): void {
    if (this.#ended) return
    this.#options.refusals.add({ reason, certified: this.certified, remote: this.#stream.getPeer(), detail })
    this.#over()
    this.#stream.emit('error', refusalStatus(reason, detail, this.#options.context.decidedIndex))
  }

  end(code: status, details: string): void {
    if (this.#ended) return
    this.#over()
    if (code === status.OK) this.#stream.end()
    else this.#stream.emit('error', { code, details })
  }

  #over(): void {
    if (this.#ended) return
    this.#ended = true
    this.#handshakeTimer.cancel()
    if (this.#peer !== null) this.#hooks.onClose(this.#peer)
  }

  #frame(bytes: Buffer): void {
    if (this.#ended) return
    let frame: LinkFrame
    try {
      frame = decodeLinkFrame(bytes)
    } catch (cause) {
      if (!(cause instanceof TransportError)) throw cause
      this.refuse('malformed', cause.message)
      return
    }
    if (frame.kind === 'messages' && this.#peer !== null) this.#receive(this.#peer, frame.messages, bytes)
    else if (frame.kind === 'hello' && this.#peer === null) this.#handleHello(frame)
    else this.refuse('malformed', 'a link begins with one hello')
  }

  #handleHello({ hello }: Extract<LinkFrame, { readonly kind: 'hello' }>): void {
    const refusal = this.#refusal(hello)
    if (refusal !== null) return this.refuse(refusal.reason, refusal.detail)
    if (this.#hasHello) return this.refuse('malformed', 'a link begins with one hello')
    this.#hasHello = true
    // Messages that the caller sends before the verdict have to wait.
    this.#stream.pause()
    const { verify, identity } = this.#options.context
    void verify(hello.from, hello.identity).then((verdict) => {
      if (this.#ended) return
      const refusal = refusalOf(verdict, this.certified, hello.identity, identity())
      if (refusal === null) this.#acceptHello(hello)
      else this.refuse(refusal.reason, refusal.detail)
    })
  }

  #acceptHello(hello: Hello): void {
    // The configuration may have changed during the verification.
    const refusal = this.#refusal(hello)
    if (refusal !== null) return this.refuse(refusal.reason, refusal.detail)
    this.process = hello.process
    this.#handshakeTimer.cancel()
    this.#options.onAccepted(this.#stream.getPeer())
    this.#peer = hello.from
    this.#stream.resume()
    const protocol = commonProtocol(hello) ?? protocolOldest
    this.#stream.write(asBuffer(encodeWelcome({ protocol, identity: this.#options.context.identity() })))
    this.#hooks.onOpen(hello.from)
  }

  /** Checks a hello. Of two concurrent processes of one member, only the first is accepted. */
  #refusal(hello: Hello): Refusal | null {
    const refusal = validateHandshake(this.#options.context, this.certified, hello)
    if (refusal !== null) return refusal
    const other = this.#hooks.processOf(hello.from)
    return other !== 0 && hello.process !== 0 && other !== hello.process
      ? anotherProcess(this.certified)
      : null
  }

  #receive(peer: NodeId, messages: readonly PeerMessage[], bytes: Buffer): void {
    const { counters, context, onMessage } = this.#options
    counters.framesReceived++
    counters.bytesReceived += bytes.byteLength
    for (const peerMessage of messages) {
      // Handling a message may close this link.
      if (this.#ended) return
      const { from, to } = peerMessage.kind === 'core' ? peerMessage.message : peerMessage
      if (from !== peer || to !== context.self) {
        return this.refuse('malformed', `member ${peer} passed on a message from ${from} to ${to}`)
      }
      counters.messagesReceived++
      onMessage(peerMessage)
    }
  }
}
