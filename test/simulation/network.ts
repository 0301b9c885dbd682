import { assert } from '../../raft/base/assert.ts'
import { Deferred } from '../../raft/base/deferred.ts'
import type { NodeId } from '../../raft/core/types.ts'
import type { PeerMessage, SnapshotHeader, Transport, TransportReceiver } from '../../raft/ports.ts'
import type { Owner, World } from './world.ts'

export type NetworkOptions = {
  readonly delayMsMin: number
  readonly delayMsMax: number
  /** Of all messages; lost, twice, or up to `lateMsMax` later than their turn. */
  readonly lossChance: number
  readonly duplicateChance: number
  readonly lateChance: number
  readonly lateMsMax: number
}

/** Every link of the cluster. Each direction of a pair can be cut alone. */
export class Network {
  readonly #world: World
  readonly #options: NetworkOptions
  readonly #ports = new Map<NodeId, SimTransport>()
  readonly #cut = new Set<string>()
  readonly #lastArrival = new Map<string, number>()
  readonly #streams = new Set<Stream>()
  readonly #tap: (message: PeerMessage) => void
  /** Off at the end of a run, when everything has to come together. */
  faulty = true

  constructor(world: World, options: NetworkOptions, tap: (message: PeerMessage) => void) {
    this.#world = world
    this.#options = options
    this.#tap = tap
  }

  attach(id: NodeId, owner: Owner): SimTransport {
    const port = new SimTransport(this, id, owner)
    this.#ports.set(id, port)
    return port
  }

  /** The process is gone: so are its connections. */
  detach(id: NodeId): void {
    this.#ports.delete(id)
    this.#breakStreams((stream) => stream.from === id || stream.to === id)
  }

  cut(from: NodeId, to: NodeId): void {
    this.#cut.add(`${from}>${to}`)
    this.#breakStreams((stream) => !this.connected(stream.from, stream.to))
  }

  heal(): void {
    this.#cut.clear()
  }

  connected(from: NodeId, to: NodeId): boolean {
    return !this.#cut.has(`${from}>${to}`)
  }

  send(message: PeerMessage, from: NodeId, to: NodeId): void {
    this.#tap(message)
    const { random } = this.#world
    if (!this.connected(from, to) || !this.#ports.has(to)) {
      if (random.chance(0.2)) this.#reportUnreachable(from, to)
      return
    }
    if (this.faulty && random.chance(this.#options.lossChance)) return
    this.#deliver(message, from, to)
    // Proposals arrive at most once: streams do not repeat, and their sender counts on it.
    const repeatable = message.kind !== 'forward' && message.kind !== 'forward-refused'
    if (this.faulty && repeatable && random.chance(this.#options.duplicateChance)) {
      this.#deliver(message, from, to)
    }
  }

  async stream(from: NodeId, header: SnapshotHeader, next: () => Promise<Uint8Array | null>): Promise<void> {
    const { to } = header
    const stream: Stream = { from, to, broken: new Deferred() }
    for (const other of this.#streams) assert(other.from !== from || other.to !== to, 'one stream per peer')
    this.#streams.add(stream)
    const whole = <T>(step: Promise<T>): Promise<T> => Promise.race([step, stream.broken.promise])
    try {
      await whole(this.#travel(stream))
      const receiver = this.#ports.get(to)?.receiver
      if (receiver === undefined || receiver === null) throw new Error('nobody listens there')
      const opening = receiver.receiveSnapshot(header)
      const sink = await whole(opening).catch((cause: unknown) => {
        // Broken before the answer: whoever opened it has to hear that nothing will come.
        opening.then((late) => late.abort(cause)).catch(() => undefined)
        throw cause
      })
      try {
        for (;;) {
          const bytes = await whole(next())
          await whole(this.#travel(stream))
          if (bytes === null) break
          await whole(sink.chunk(bytes))
        }
      } catch (cause) {
        sink.abort(cause)
        throw cause
      }
      await whole(sink.finish())
    } finally {
      this.#streams.delete(stream)
    }
  }

  #travel(stream: Stream): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#world.schedule(this.#delay(), `net stream ${stream.from}>${stream.to}`, null, () => {
        if (this.connected(stream.from, stream.to)) resolve()
        else reject(new Error('the link was cut'))
      })
    })
  }

  #breakStreams(which: (stream: Stream) => boolean): void {
    for (const stream of this.#streams) {
      if (which(stream)) stream.broken.reject(new Error('the connection broke'))
    }
  }

  #deliver(message: PeerMessage, from: NodeId, to: NodeId): void {
    const { random, now } = this.#world
    const link = `${from}>${to}`
    let arrival = Math.max(now + this.#delay(), this.#lastArrival.get(link) ?? 0)
    if (this.faulty && random.chance(this.#options.lateChance))
      arrival += random.below(this.#options.lateMsMax)
    else this.#lastArrival.set(link, arrival)
    const port = this.#ports.get(to)
    if (port === undefined) return
    this.#world.scheduleAt(arrival, `net ${link} ${nameOf(message)}`, port.owner, () => {
      // The same process still runs there, and the link was not cut meanwhile.
      if (this.#ports.get(to) === port && this.connected(from, to)) port.receiver?.receive(message)
    })
  }

  #reportUnreachable(from: NodeId, to: NodeId): void {
    const port = this.#ports.get(from)
    if (port === undefined) return
    this.#world.schedule(this.#delay(), `net ${from} misses ${to}`, port.owner, () => {
      if (this.#ports.get(from) === port) port.receiver?.unreachable(to)
    })
  }

  #delay(): number {
    const { delayMsMin, delayMsMax } = this.#options
    return delayMsMin + (this.#world.random.below(1000) / 1000) * (delayMsMax - delayMsMin)
  }
}

type Stream = { readonly from: NodeId; readonly to: NodeId; readonly broken: Deferred<never> }

/** One member's end. */
export class SimTransport implements Transport {
  readonly #network: Network
  readonly #id: NodeId
  readonly owner: Owner
  receiver: TransportReceiver | null = null

  constructor(network: Network, id: NodeId, owner: Owner) {
    this.#network = network
    this.#id = id
    this.owner = owner
  }

  async start(receiver: TransportReceiver): Promise<void> {
    this.receiver = receiver
  }

  setPeers(): void {
    // Everybody is known to everybody; who counts is the core's affair.
  }

  send(message: PeerMessage): void {
    const { from, to } = message.kind === 'core' ? message.message : message
    assert(from === this.#id, 'a member speaks for itself')
    if (this.receiver !== null) this.#network.send(message, from, to)
  }

  sendSnapshot(_to: NodeId, header: SnapshotHeader, next: () => Promise<Uint8Array | null>): Promise<void> {
    return this.#network.stream(this.#id, header, next)
  }

  async close(): Promise<void> {
    this.receiver = null
    this.#network.detach(this.#id)
  }
}

function nameOf(message: PeerMessage): string {
  if (message.kind !== 'core') return message.kind
  const core = message.message
  const detail = core.kind === 'append-request' ? ` ${core.previousIndex}+${core.entries.length}` : ''
  return `${core.kind} t${core.term}${detail}`
}
