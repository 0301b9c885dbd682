import { assert } from '../../base/assert.ts'
import { BoundedQueue } from '../../base/bounded-queue.ts'
import type { Clock } from '../../base/clock.ts'
import { noIndex } from '../core/types.ts'
import type { LogIndex, MemberInfo, NodeId } from '../core/types.ts'
import type { PeerMessage, SnapshotHeader, SnapshotSink, Transport, TransportReceiver } from '../ports.ts'
import { EndedPeers } from './ended-peers.ts'
import { TransportError } from './errors.ts'
import { PeerList } from './peer-list.ts'

/**
 * A network of members in one process, addressed by id: for tests, and for members without peers.
 * Messages are lost only on blocked links, to absent members, between members of different
 * clusters, if sender or receiver does not list the other as peer, or when the queue of the
 * receiver is full.
 */
export class MemoryNetwork {
  readonly #members = new Map<NodeId, MemoryTransport>()
  readonly #blocked = new Set<string>()

  /** Drops messages from `from` to `to`; the other direction is not affected. */
  block(from: NodeId, to: NodeId): void {
    this.#blocked.add(`${from}>${to}`)
  }

  heal(): void {
    this.#blocked.clear()
  }

  /** @throws TransportError `listen` when a member with that id has joined already */
  join(id: NodeId, transport: MemoryTransport): void {
    if (this.#members.has(id)) throw new TransportError('listen', `member ${id} is running already`)
    this.#members.set(id, transport)
    for (const other of this.#members.values()) if (other !== transport) other.peerEnded(id, false)
  }

  leave(id: NodeId, transport: MemoryTransport): void {
    if (this.#members.get(id) !== transport) return
    this.#members.delete(id)
    for (const other of this.#members.values()) other.peerEnded(id, true)
  }

  /** @returns null when a message sent now would be lost */
  route(from: NodeId, to: NodeId): MemoryTransport | null {
    return this.#blocked.has(`${from}>${to}`) ? null : (this.#members.get(to) ?? null)
  }
}

export type MemoryTransportOptions = {
  readonly network: MemoryNetwork
  readonly cluster: string
  readonly self: { readonly id: NodeId; readonly name: string }
  readonly clock: Clock
  /**
   * Limit of the messages that wait for this member. Above it a message is dropped, and its sender
   * gets the report that this member is unreachable.
   */
  readonly queueMessagesMax: number
}

/** The sender of a message, as the receiver knows it. */
type Sender = Pick<MemoryTransport, 'cluster' | 'self'>

/** One member of a `MemoryNetwork`. It delivers messages in a later turn, never within a call. */
export class MemoryTransport implements Transport {
  readonly #options: MemoryTransportOptions
  readonly #inbox: BoundedQueue<PeerMessage>
  readonly #peers: PeerList
  readonly #sending = new Set<NodeId>()
  readonly #ended = new EndedPeers((peer, hasEnded) => {
    if (!this.#closed) this.#receiver?.ended(peer, hasEnded)
  })
  /** Number of impossible messages from others. */
  violations = 0
  #receiver: TransportReceiver | null = null
  #delivering = false
  #closed = false

  constructor(options: MemoryTransportOptions) {
    this.#options = options
    this.#inbox = new BoundedQueue(options.queueMessagesMax)
    this.#peers = new PeerList(options.self.id)
  }

  async start(receiver: TransportReceiver): Promise<void> {
    assert(this.#receiver === null, 'a transport is started once')
    this.#receiver = receiver
    this.#options.network.join(this.#options.self.id, this)
  }

  setPeers(peers: readonly MemberInfo[], decidedIndex: LogIndex = noIndex): void {
    this.#peers.set(peers, decidedIndex)
  }

  get self(): MemoryTransportOptions['self'] {
    return this.#options.self
  }

  get cluster(): string {
    return this.#options.cluster
  }

  send(message: PeerMessage): void {
    const { from, to } = message.kind === 'core' ? message.message : message
    assert(from === this.#options.self.id, 'a member sends only as itself')
    assert(to !== from, 'a member does not call itself')
    const target = this.#reach(to)
    if (target?.accept(message, this) === true) return
    const removedIndex = target?.removedIndexOf(this.#options.self.id) ?? noIndex
    this.#options.clock.soon(() => {
      if (this.#closed) return
      if (removedIndex > noIndex) this.#receiver?.removedByPeer(to, removedIndex)
      this.#receiver?.unreachable(to)
    })
  }

  /**
   * Returns the index of the committed configuration without the sender; 0: it is a member, or
   * nothing is committed.
   */
  removedIndexOf(sender: NodeId): LogIndex {
    return this.#receiver === null || this.#peers.all.has(sender) ? noIndex : this.#peers.decidedIndex
  }

  /**
   * Queues a message. Called by the sender.
   *
   * @returns false when the sender is refused or the queue is full
   */
  accept(message: PeerMessage, sender: Sender): boolean {
    if (!this.#welcomes(sender) || !this.#inbox.offer(message)) return false
    if (!this.#delivering) {
      this.#delivering = true
      this.#options.clock.soon(() => this.#deliver())
    }
    return true
  }

  /** Reports that a member left the network, or joined it again. Called by the network. */
  peerEnded(peer: NodeId, hasEnded: boolean): void {
    this.#ended.update(peer, hasEnded && this.#peers.all.has(peer))
  }

  /** Counts the impossible message; there is no link to close. */
  refuse(): void {
    this.violations++
  }

  async sendSnapshot(
    to: NodeId,
    header: SnapshotHeader,
    next: () => Promise<Uint8Array | null>,
  ): Promise<void> {
    if (this.#sending.has(to)) throw new TransportError('busy', `a snapshot to member ${to} is under way`)
    this.#sending.add(to)
    try {
      await this.#stream(to, header, next)
    } finally {
      this.#sending.delete(to)
    }
  }

  /**
   * Opens a sink for a snapshot. Called by the sender.
   *
   * @throws TransportError `refused`
   */
  async open(header: SnapshotHeader, sender: Sender): Promise<SnapshotSink> {
    if (this.#receiver === null || !this.#welcomes(sender)) {
      throw new TransportError('refused', `member ${sender.self.id} is not a member here`)
    }
    return this.#receiver.receiveSnapshot(header)
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#inbox.clear()
    this.#options.network.leave(this.#options.self.id, this)
  }

  async #stream(to: NodeId, header: SnapshotHeader, next: () => Promise<Uint8Array | null>): Promise<void> {
    const target = this.#reach(to)
    if (target === null) throw new TransportError('unreachable', `member ${to} is unreachable`)
    const sink = await aborting(target.open(header, this))
    try {
      for (let piece = await next(); piece !== null; piece = await next()) {
        if (this.#reach(to) !== target) throw new TransportError('unreachable', `member ${to} was closed`)
        await sink.chunk(Uint8Array.from(piece))
      }
    } catch (cause) {
      sink.abort(cause)
      throw cause instanceof TransportError
        ? cause
        : new TransportError('aborted', 'the snapshot ended early', { cause })
    }
    await aborting(sink.finish())
  }

  #reach(to: NodeId): MemoryTransport | null {
    if (this.#closed || this.#receiver === null || !this.#peers.all.has(to)) return null
    return this.#options.network.route(this.#options.self.id, to)
  }

  #welcomes({ cluster, self }: Sender): boolean {
    return cluster === this.#options.cluster && this.#peers.all.get(self.id)?.name === self.name
  }

  /** Delivers the messages that are in the inbox now; later ones get their own turn. */
  #deliver(): void {
    this.#delivering = false
    for (let left = this.#inbox.size; left > 0; left--) {
      const message = this.#inbox.poll()
      if (message === undefined) return
      const { from } = message.kind === 'core' ? message.message : message
      if (!this.#peers.all.has(from)) continue
      this.#receiver?.receive(message)
    }
  }
}

async function aborting<T>(step: Promise<T>): Promise<T> {
  try {
    return await step
  } catch (cause) {
    if (cause instanceof TransportError) throw cause
    throw new TransportError('aborted', 'the receiver could not take the snapshot', { cause })
  }
}
