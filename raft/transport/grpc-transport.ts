import { logVerbosity, Server, setLogVerbosity } from '@grpc/grpc-js'
import { assert } from '../../base/assert.ts'
import type { Clock } from '../../base/clock.ts'
import { Deferred } from '../../base/deferred.ts'
import type { Random } from '../../base/random.ts'
import { noIndex } from '../core/types.ts'
import type { LogIndex, MemberInfo, NodeId } from '../core/types.ts'
import type { PeerMessage, SnapshotHeader, Transport, TransportReceiver } from '../ports.ts'
import { serverOptions } from './channel-options.ts'
import { asIs } from './dialing.ts'
import { EndedPeers } from './ended-peers.ts'
import { TransportError } from './errors.ts'
import { newCounters } from './events.ts'
import type { TransportCounters, TransportEvent, TransportMeasure } from './events.ts'
import type { Hello } from './frame-codec.ts'
import type { HandshakeContext } from './handshake.ts'
import { InboundLinks } from './inbound-links.ts'
import { InboundSnapshots } from './inbound-snapshots.ts'
import { checkTransportLimits, method } from './options.ts'
import type { TransportLimits } from './options.ts'
import { PeerLink } from './peer-link.ts'
import { PeerPort } from './peer-port.ts'
import { PeerList } from './peer-list.ts'
import { PeerTls } from './peer-identity.ts'
import type { PeerCredentials } from './peer-identity.ts'
import { protocolNewest, protocolOldest } from './protocol-version.ts'
import { RefusalLog } from './refusal-log.ts'
import { sendSnapshotStream } from './snapshot-stream.ts'

export type GrpcTransportOptions = {
  /** Name of the cluster, 1 to 255 bytes; peers of another cluster are refused. */
  readonly cluster: string
  readonly self: { readonly id: NodeId; readonly name: string }
  /**
   * Fingerprint of the list of members that this member's log began with, at most 64 bytes. Peers
   * with another fingerprint are refused, because majorities of different lists need not overlap.
   * Unset or empty: not known, and not checked.
   */
  readonly founding?: string
  /**
   * The address to listen on for peers: `host:port`, IPv6 in brackets; port 0 takes any free one.
   */
  readonly listenAddress: string
  readonly credentials: PeerCredentials
  readonly limits: TransportLimits
  readonly clock: Clock
  readonly random: Random
  /** Called with each event, for logs and counts only: it must not call the transport. */
  readonly onEvent: (event: TransportEvent) => void
}

/**
 * Transport over gRPC with mutual TLS. `proto/` defines the messages.
 *
 * Every member connects to every other; a stream carries the messages of the member that opened it.
 * Messages of one turn share a frame. A link that is down or full drops messages and reports the
 * peer unreachable; it never blocks.
 */
export class GrpcTransport implements Transport {
  readonly counters: TransportCounters = newCounters()
  readonly #options: GrpcTransportOptions
  readonly #tls: PeerTls
  readonly #server: Server
  readonly #peerPort: PeerPort
  readonly #inbound: InboundLinks
  readonly #peers: PeerList
  readonly #links = new Map<NodeId, PeerLink>()
  readonly #snapshots = new Map<NodeId, Deferred<never>>()
  readonly #ended = new EndedPeers((peer, hasEnded) => {
    if (!this.#closed) this.#receiver?.ended(peer, hasEnded)
  })
  /** Distinguishes this process from another that connects as the same member. */
  readonly #process: number
  #receiver: TransportReceiver | null = null
  #port = 0
  #closed = false

  /** @throws TransportError `identity` */
  constructor(options: GrpcTransportOptions) {
    checkTransportLimits(options.limits)
    // Disables the log output of gRPC: its errors are returned to callers and reported as events.
    setLogVerbosity(logVerbosity.NONE)
    assert(Buffer.byteLength(options.cluster) >= 1, 'a cluster has a name')
    assert(Buffer.byteLength(options.cluster) <= 255, 'a cluster name fits a hello')
    assert(Buffer.byteLength(options.founding ?? '') <= 64, 'a fingerprint fits a hello')
    this.#options = options
    this.#tls = new PeerTls(options.self.name, options.credentials)
    this.#server = new Server(serverOptions(options.limits))
    const callers = this.#server.createConnectionInjector(this.#tls.server)
    const { limits, clock, onEvent } = options
    const { connectionsMax, connectTimeoutMs } = limits
    const refusals = new RefusalLog({ clock, counters: this.counters, onEvent })
    this.#peerPort = new PeerPort({
      ...{ clock, connectionsMax, handshakeMs: connectTimeoutMs },
      take: (socket) => callers.injectConnection(socket),
      refused: (refused) => refusals.add({ ...refused, certified: null }),
    })
    this.#process = 1 + options.random.below(2 ** 21) * 2 ** 31 + options.random.below(2 ** 31)
    this.#peers = new PeerList(options.self.id)
    const decidedIndex = (): LogIndex => this.#peers.decidedIndex
    const context: HandshakeContext = {
      cluster: options.cluster,
      self: options.self.id,
      founding: options.founding ?? '',
      peers: this.#peers.all,
      get decidedIndex() {
        return decidedIndex()
      },
      identity: () => this.#receiverNow().identity(),
      verify: (peer, identity) => this.#receiverNow().verify(peer, identity),
    }
    const onAccepted = (remote: string): void => this.#peerPort.accepted(remote)
    const common = { context, limits, clock, onAccepted, refusals, counters: this.counters }
    this.#inbound = new InboundLinks({
      ...common,
      onMessage: (message) => this.#receiver?.receive(message),
      onPeer: (peer) => {
        this.#links.get(peer)?.retryNow()
        this.#checkEnded(peer)
      },
      onPeerGone: (peer) => this.#checkEnded(peer),
    })
    const snapshots = new InboundSnapshots({
      ...common,
      onEvent,
      onSnapshot: (header) => this.#receiverNow().receiveSnapshot(header),
    })
    const shape = { requestSerialize: asIs, requestDeserialize: asIs }
    const answer = { responseSerialize: asIs, responseDeserialize: asIs }
    const link = { path: method.messages, requestStream: true, responseStream: true }
    const snapshot = { path: method.snapshot, requestStream: true, responseStream: false }
    this.#server.addService(
      { messages: { ...link, ...shape, ...answer } },
      { messages: this.#inbound.handle },
    )
    this.#server.addService({ send: { ...snapshot, ...shape, ...answer } }, { send: snapshots.handle })
  }

  /** The port that was bound; 0 before `start`. */
  get port(): number {
    return this.#port
  }

  /** @throws TransportError `listen`, `closed` */
  async start(receiver: TransportReceiver): Promise<void> {
    assert(this.#receiver === null, 'a transport is started once')
    this.#receiver = receiver
    const { listenAddress } = this.#options
    this.#port = await this.#peerPort.listen(listenAddress)
    if (this.#closed) return
    this.#options.onEvent({ kind: 'listening', address: listenAddress, port: this.#port })
    this.#relink()
  }

  setPeers(peers: readonly MemberInfo[], decidedIndex: LogIndex = noIndex): void {
    this.#peers.set(peers, decidedIndex)
    this.#inbound.sweep()
    this.#relink()
  }

  send(message: PeerMessage): void {
    const { from, to } = message.kind === 'core' ? message.message : message
    assert(from === this.#options.self.id, 'a member sends only as itself')
    assert(to !== from, 'a member does not call itself')
    const link = this.#links.get(to)
    if (link !== undefined) return link.offer(message)
    this.counters.messagesDropped++
    queueMicrotask(() => {
      if (!this.#closed) this.#receiver?.unreachable(to)
    })
  }

  refuse(peer: NodeId, violation: string): void {
    this.#inbound.violated(peer, violation)
  }

  /**
   * @throws TransportError `busy`, `unreachable`, `refused`, `lost-log`, `aborted`, `corrupt`,
   * `closed`
   */
  async sendSnapshot(
    to: NodeId,
    header: SnapshotHeader,
    next: () => Promise<Uint8Array | null>,
  ): Promise<void> {
    const peer = this.#peers.all.get(to)
    if (this.#closed || peer === undefined) {
      throw new TransportError('unreachable', `member ${to} is not a peer, or this transport is closed`)
    }
    if (this.#snapshots.has(to)) throw new TransportError('busy', `a snapshot to member ${to} is under way`)
    const abandoned = new Deferred<never>()
    this.#snapshots.set(to, abandoned)
    const { limits, clock } = this.#options
    const stream = { peer, hello: this.#hello(to), credentials: this.#tls.dial(peer.name), limits, clock }
    try {
      await sendSnapshotStream({ ...stream, abandoned }, header, next)
      this.counters.snapshotsSent++
    } catch (cause) {
      this.counters.snapshotsFailed++
      throw cause
    } finally {
      this.#snapshots.delete(to)
    }
  }

  /**
   * Uses these credentials for new connections in both directions; invalid ones are reported, and
   * the previous ones stay in use. If an authority was removed, all connections are closed and
   * opened again, because that authority may have signed their certificates.
   */
  renew(credentials: PeerCredentials): void {
    const { onEvent } = this.#options
    try {
      const isNarrower = this.#tls.renew(credentials)
      onEvent({ kind: 'keys-renewed' })
      if (isNarrower) this.#reconnect()
    } catch (cause) {
      if (!(cause instanceof TransportError)) throw cause
      onEvent({ kind: 'keys-refused', cause: cause.message })
    }
  }

  measure(): TransportMeasure {
    return { counters: { ...this.counters }, links: [...this.#links.values()].map((link) => link.measure()) }
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    for (const link of this.#links.values()) link.close()
    this.#links.clear()
    const closed = new TransportError('closed', 'this member stops')
    for (const abandoned of this.#snapshots.values()) abandoned.reject(closed)
    this.#inbound.close()
    this.#peerPort.close()
    this.#server.forceShutdown()
  }

  /** Closes all connections of callers at once: for a thread that is about to end. */
  disconnect(): void {
    this.#peerPort.disconnect()
  }

  #reconnect(): void {
    this.#peerPort.dropCallers()
    for (const link of this.#links.values()) link.close()
    this.#links.clear()
    const aborted = new TransportError('aborted', 'the authorities of peers changed')
    for (const abandoned of this.#snapshots.values()) abandoned.reject(aborted)
    this.#relink()
  }

  /** Keeps one link to each peer, with its current address and name. */
  #relink(): void {
    if (this.#receiver === null || this.#closed) return
    for (const [id, link] of this.#links) {
      const peer = this.#peers.all.get(id)
      if (peer?.peerAddress === link.peer.peerAddress && peer.name === link.peer.name) continue
      link.close()
      this.#links.delete(id)
      this.#checkEnded(id)
      this.#snapshots.get(id)?.reject(new TransportError('aborted', `member ${id} left or moved`))
    }
    for (const peer of this.#peers.all.values()) {
      if (!this.#links.has(peer.id)) this.#links.set(peer.id, this.#link(peer))
    }
  }

  #link(peer: MemberInfo): PeerLink {
    const { limits, clock, random, onEvent } = this.#options
    return new PeerLink({
      ...{ peer, limits, clock, random, onEvent, counters: this.counters },
      hello: () => this.#hello(peer.id),
      credentials: () => this.#tls.dial(peer.name),
      onUnreachable: () => this.#receiver?.unreachable(peer.id),
      onAttempt: () => this.#checkEnded(peer.id),
      onRemovedByPeer: (index) => this.#receiver?.removedByPeer(peer.id, index),
    })
  }

  /** Reports whether a peer has ended, if that changed; see `TransportReceiver.ended`. */
  #checkEnded(peer: NodeId): void {
    this.#ended.update(peer, this.#links.get(peer)?.isUnanswered === true && !this.#inbound.has(peer))
  }

  #hello(to: NodeId): Hello {
    return {
      protocol: protocolOldest,
      protocolMax: protocolNewest,
      cluster: this.#options.cluster,
      from: this.#options.self.id,
      to,
      identity: this.#receiverNow().identity(),
      founding: this.#options.founding ?? '',
      process: this.#process,
    }
  }

  #receiverNow(): TransportReceiver {
    assert(this.#receiver !== null, 'no peer connects before the start')
    return this.#receiver
  }
}
