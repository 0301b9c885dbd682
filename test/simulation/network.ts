import { assert } from '../../base/assert.ts'
import { noIndex } from '../../raft/core/types.ts'
import type { LogIndex, MemberInfo, NodeId } from '../../raft/core/types.ts'
import type {
  PeerIdentity,
  PeerMessage,
  PeerVerdict,
  SnapshotHeader,
  Transport,
  TransportReceiver,
} from '../../raft/ports.ts'
import { TransportError } from '../../raft/transport/errors.ts'
import { defaultTransportLimits } from '../../raft/transport/options.ts'
import { areApart } from '../../raft/transport/handshake.ts'
import { PeerList } from '../../raft/transport/peer-list.ts'
import { Link } from './link.ts'
import type { Condition, LinkFault, NetworkOptions } from './link.ts'
import { Redials } from './redials.ts'
import { SnapshotStreams } from './snapshot-streams.ts'
import type { StreamFault } from './snapshot-streams.ts'
import type { Owner, World } from './world.ts'

export type NetworkFault = LinkFault | StreamFault | 'peer-rejected' | 'other-cluster' | 'ended'

export type NetworkDependencies = {
  readonly world: World
  readonly options: NetworkOptions
  /** Called with every message, when it is sent. */
  readonly tap: (message: PeerMessage) => void
  readonly met: (fault: NetworkFault) => void
}

/** Messages that wait until their sender was accepted. When full: dropped. */
const waitingMax = 64
/** The longest time that real links wait between two attempts. */
const { backoffMsMax: callMs } = defaultTransportLimits

/** Every link of the cluster, one for each direction of each pair. */
export class Network {
  readonly #dependencies: NetworkDependencies
  readonly #ports = new Map<NodeId, SimTransport>()
  readonly #links = new Map<string, Link>()
  readonly #streams: SnapshotStreams
  readonly #redials: Redials
  readonly #namedCluster = new Set<NodeId>()
  /** Off at the end of a run, when healthy members have to converge. */
  faulty = true

  constructor(dependencies: NetworkDependencies) {
    this.#dependencies = dependencies
    this.#redials = new Redials({
      ...dependencies,
      port: (id) => this.#ports.get(id),
      isOpen: (from, to) => this.connected(from, to),
    })
    this.#streams = new SnapshotStreams({
      world: dependencies.world,
      options: dependencies.options,
      met: dependencies.met,
      link: (from, to) => this.#link(from, to),
      receiver: (from, to) => this.#streamReceiver(from, to),
      faulty: () => this.faulty,
    })
  }

  attach(self: SimIdentity, owner: Owner): SimTransport {
    const port = new SimTransport(this, self, owner)
    this.#ports.set(self.id, port)
    return port
  }

  /**
   * Opens connections to all peers, again and again, as real members do: so a member with nothing
   * to send learns of its refusal, too.
   */
  calls(from: SimTransport): void {
    const { world, options } = this.#dependencies
    world.schedule(callMs, `net ${from.id} calls`, from.owner, () => {
      if (this.#ports.get(from.id) !== from || from.receiver === null) return
      for (const id of from.peers.keys()) {
        const to = this.#ports.get(id)
        if (to === undefined) continue
        world.schedule(options.delayMsMin, `net ${from.id}>${id} call`, to.owner, () =>
          this.#called(from, to),
        )
      }
      this.calls(from)
    })
  }

  /** The process has ended, and so have its connections. */
  detach(id: NodeId, port: SimTransport): void {
    if (this.#ports.get(id) !== port) return
    this.#ports.delete(id)
    for (const other of this.#ports.values()) if (other.peers.has(id)) this.#redials.ended(other, id)
    this.#streams.break((stream) => stream.from === id || stream.to === id)
  }

  /** @returns a function that ends it */
  impose(from: NodeId, to: NodeId, condition: Condition): () => void {
    const end = this.#link(from, to).impose(condition)
    if (condition.kind === 'cut') this.#redials.reset(from, to)
    if (condition.kind === 'cut') this.#streams.break((stream) => stream.from === from && stream.to === to)
    return end
  }

  /** Heals every link. */
  heal(): void {
    for (const link of this.#links.values()) link.heal()
    this.#streams.break((stream) => stream.hangs)
  }

  connected(from: NodeId, to: NodeId): boolean {
    return this.#link(from, to).isOpen
  }

  /** Returns whether it proposed a cluster id that others may have accepted. */
  hasNamedCluster(id: NodeId): boolean {
    return this.#namedCluster.has(id)
  }

  send(message: PeerMessage, from: NodeId, to: NodeId): void {
    this.#dependencies.tap(message)
    if (message.kind === 'founding') this.#note(from, message.identity)
    this.inject(message, from, to)
  }

  /** Delivers a message. Called directly for messages that the real code never sends. */
  inject(message: PeerMessage, from: NodeId, to: NodeId): void {
    const { world } = this.#dependencies
    const link = this.#link(from, to)
    const port = this.#ports.get(to)
    const sender = this.#ports.get(from)
    if (sender === undefined) return
    if (port === undefined || !sender.peers.has(to)) {
      if (world.random.chance(0.2)) this.#reportUnreachable(from, to)
      return
    }
    // Proposals arrive at most once: streams do not repeat, and their sender relies on it.
    const repeatable = message.kind !== 'forward' && message.kind !== 'forward-refused'
    const { arrivals, reportedUnreachable } = link.pass(world.now, this.faulty, repeatable)
    if (reportedUnreachable) this.#reportUnreachable(from, to)
    for (const arrival of arrivals) {
      world.scheduleAt(arrival, `net ${from}>${to} ${nameOf(message)}`, port.owner, () => {
        // Checks that the same process still runs, and that the link was not broken since.
        if (this.#ports.get(to) === port && link.isOpen) this.#arrived(message, sender, port)
      })
    }
  }

  stream(from: NodeId, header: SnapshotHeader, next: () => Promise<Uint8Array | null>): Promise<void> {
    return this.#streams.send(from, header, next)
  }

  /**
   * Handles a message. The first message of a process starts the verification of its identity and
   * log ID; until the verdict, its messages wait.
   */
  #arrived(message: PeerMessage, from: SimTransport, to: SimTransport): void {
    const { receiver, handshakes } = to
    if (receiver === null) return
    this.#redials.connected(from, to)
    if (!this.#admits(from, to)) {
      this.#reportUnreachable(from.id, to.id)
      return
    }
    const known = handshakes.get(from) ?? this.#handshake(from, to, receiver)
    if (known.verdict === 'ok') return to.receive(message)
    if (known.verdict === null && known.waiting.length < waitingMax) known.waiting.push(message)
  }

  #called(from: SimTransport, to: SimTransport): void {
    const isOpen = this.connected(from.id, to.id) && this.connected(to.id, from.id)
    const { receiver } = to
    if (!isOpen || this.#ports.get(to.id) !== to || receiver === null || from.receiver === null) return
    this.#redials.connected(from, to)
    if (this.#admits(from, to) && !to.handshakes.has(from)) this.#handshake(from, to, receiver)
  }

  /** @returns false: the sender was rejected */
  #admits(from: SimTransport, to: SimTransport): boolean {
    if (to.admits(from)) return true
    if (to.isApartFrom(from)) this.#dependencies.met('other-cluster')
    else this.#rejectRemoved(from, to)
    return false
  }

  /** A removed member gets the index of a committed configuration without it. */
  #rejectRemoved(from: SimTransport, to: SimTransport): void {
    const { decidedIndex } = to
    if (decidedIndex === noIndex || to.peers.has(from.id)) return
    const label = `net ${to.id} rejects removed ${from.id}`
    this.#dependencies.world.schedule(this.#dependencies.options.delayMsMin, label, from.owner, () => {
      if (this.#ports.get(from.id) === from) from.receiver?.removedByPeer(to.id, decidedIndex)
    })
  }

  #handshake(from: SimTransport, to: SimTransport, receiver: TransportReceiver): Handshake {
    const identity = from.receiver?.identity() ?? noIdentity
    this.#note(from.id, identity)
    const verified = receiver.verify(from.id, identity)
    const handshake: Handshake = { verdict: null, verified, waiting: [] }
    to.handshakes.set(from, handshake)
    verified.then(
      (verdict) => this.#onVerdict(handshake, verdict, from, to),
      (cause: unknown) => this.#dependencies.world.fail(cause),
    )
    return handshake
  }

  #onVerdict(handshake: Handshake, verdict: PeerVerdict, from: SimTransport, to: SimTransport): void {
    const { world, met } = this.#dependencies
    handshake.verdict = verdict
    if (verdict === 'ok') {
      for (const message of handshake.waiting.splice(0)) {
        const label = `net ${from.id}>${to.id} accepted`
        world.schedule(0, label, to.owner, () => to.receive(message))
      }
      world.schedule(0, `net ${to.id} accepts ${from.id}`, from.owner, () => from.identity.acceptedBy(to.id))
      return
    }
    // A refused link is dialed again.
    world.schedule(callMs, `net ${from.id}>${to.id} redial`, to.owner, () => {
      if (to.handshakes.get(from) === handshake) to.handshakes.delete(from)
    })
    if (this.#ports.get(from.id) !== from) return
    met(verdict === 'lost-log' ? 'peer-rejected' : 'other-cluster')
    if (verdict === 'other-cluster') return
    world.schedule(0, `net ${to.id} rejects ${from.id}`, from.owner, () => from.identity.logRefusedBy(to.id))
  }

  async #streamReceiver(from: NodeId, to: NodeId): Promise<TransportReceiver> {
    const [sender, port] = [this.#ports.get(from), this.#ports.get(to)]
    const receiver = port?.receiver ?? null
    if (sender?.peers.has(to) !== true || port === undefined || receiver === null) {
      throw new TransportError('unreachable', `no connection to member ${to}`)
    }
    if (!port.admits(sender))
      throw new TransportError('refused', `member ${from} is not in the configuration`)
    const { verified } = port.handshakes.get(sender) ?? this.#handshake(sender, port, receiver)
    const verdict = await verified
    if (verdict === 'ok') return receiver
    throw new TransportError('refused', `member ${from} is refused: ${verdict}`)
  }

  #note(member: NodeId, { clusterId }: PeerIdentity): void {
    if (clusterId !== '') this.#namedCluster.add(member)
  }

  #reportUnreachable(from: NodeId, to: NodeId): void {
    const port = this.#ports.get(from)
    if (port === undefined) return
    const { delayMsMin } = this.#dependencies.options
    this.#dependencies.world.schedule(delayMsMin, `net ${from} loses ${to}`, port.owner, () => {
      if (this.#ports.get(from) === port) port.receiver?.unreachable(to)
    })
  }

  #link(from: NodeId, to: NodeId): Link {
    const pair = `${from}>${to}`
    const found = this.#links.get(pair)
    if (found !== undefined) return found
    const { world, options, met } = this.#dependencies
    const link = new Link(options, world.random.fork(), met)
    this.#links.set(pair, link)
    return link
  }
}

/** The verdict of one process on another. */
type Handshake = {
  verdict: PeerVerdict | null
  /** Resolves with the verdict. */
  readonly verified: Promise<PeerVerdict>
  readonly waiting: PeerMessage[]
}

/** The identity of a member. */
export type SimIdentity = {
  readonly cluster: string
  readonly id: NodeId
  readonly name: string
  /** See `RaftActor`. */
  readonly logRefusedBy: (peer: NodeId) => void
  readonly acceptedBy: (peer: NodeId) => void
  /** A peer sent this member an impossible message. */
  readonly violated: (peer: NodeId, violation: string) => void
}

/** The identity in the handshake of a process that ended before the handshake arrived. */
const noIdentity = { logId: '', clusterId: '', phase: 'gathering' } as const

/** The transport of one member. */
export class SimTransport implements Transport {
  readonly #network: Network
  readonly #self: SimIdentity
  readonly owner: Owner
  readonly handshakes = new Map<SimTransport, Handshake>()
  /** The peers that were reported as ended. */
  readonly endedPeers = new Set<NodeId>()
  readonly #peers: PeerList
  receiver: TransportReceiver | null = null

  constructor(network: Network, self: SimIdentity, owner: Owner) {
    this.#network = network
    this.#self = self
    this.owner = owner
    this.#peers = new PeerList(self.id)
  }

  get peers(): ReadonlyMap<NodeId, MemberInfo> {
    return this.#peers.all
  }

  get decidedIndex(): LogIndex {
    return this.#peers.decidedIndex
  }

  get id(): NodeId {
    return this.#self.id
  }

  admits(caller: SimTransport): boolean {
    const { id, identity } = caller
    if (identity.cluster !== this.#self.cluster || this.isApartFrom(caller)) return false
    return this.peers.get(id)?.name === identity.name
  }

  /**
   * Returns whether the clusters were founded separately, which the handshake checks before the
   * members.
   */
  isApartFrom({ receiver }: SimTransport): boolean {
    return (
      receiver !== null && this.receiver !== null && areApart(receiver.identity(), this.receiver.identity())
    )
  }

  receive(message: PeerMessage): void {
    this.receiver?.receive(message)
  }

  get identity(): SimIdentity {
    return this.#self
  }

  async start(receiver: TransportReceiver): Promise<void> {
    this.receiver = receiver
    this.#network.calls(this)
  }

  setPeers(peers: readonly MemberInfo[], decidedIndex: LogIndex = noIndex): void {
    this.#peers.set(peers, decidedIndex)
  }

  send(message: PeerMessage): void {
    const { from, to } = message.kind === 'core' ? message.message : message
    assert(from === this.id, 'a member sends only under its own ID')
    if (this.receiver !== null) this.#network.send(message, from, to)
  }

  /** Called when a peer sent an impossible message, which honest members never do. */
  refuse(peer: NodeId, violation: string): void {
    this.#self.violated(peer, violation)
  }

  sendSnapshot(to: NodeId, header: SnapshotHeader, next: () => Promise<Uint8Array | null>): Promise<void> {
    if (!this.peers.has(to) || this.receiver === null) {
      return Promise.reject(new TransportError('unreachable', `no connection to member ${to}`))
    }
    return this.#network.stream(this.id, header, next)
  }

  async close(): Promise<void> {
    this.receiver = null
    this.#network.detach(this.id, this)
  }
}

function nameOf(message: PeerMessage): string {
  if (message.kind !== 'core') return message.kind
  const core = message.message
  const detail = core.kind === 'append-request' ? ` ${core.previousIndex}+${core.entries.length}` : ''
  return `${core.kind} t${core.term}${detail}`
}
