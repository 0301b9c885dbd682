import { Deferred } from '../../base/deferred.ts'
import type { FollowerStatus } from '../core/ready.ts'
import type { LogIndex, NodeId, SnapshotMeta, Term } from '../core/types.ts'
import type { Transport } from '../ports.ts'
import { neededByFollowers } from './log-needs.ts'
import type { LogNeed, SentState } from './log-needs.ts'
import { oneLine } from '../protocol/one-line.ts'
import type { RaftToApi, SnapshotOutAnswer } from '../protocol/thread-messages.ts'

/** The driver, as the outbox uses it. */
export interface SnapshotOutboxDependencies {
  readonly self: NodeId
  readonly term: Term
  readonly commit: LogIndex
  readonly transport: Transport
  post(message: RaftToApi): void
  /**
   * Returns the snapshot with a configuration: that with which the log began, if the state machine
   * has not applied one yet.
   */
  complete(snapshot: SnapshotMeta): SnapshotMeta
  /** Reports the outcome to the core. */
  report(peer: NodeId, outcome: 'finished' | 'failed'): void
}

export type SnapshotOutboxLimits = {
  /**
   * Maximum number of concurrent streams. Above it peers wait, and `failed` is reported to the
   * core, which retries.
   */
  readonly streamsMax: number
  /** Chunks requested ahead of the peer. */
  readonly windowChunks: number
}

/** Sends snapshots to peers: pulls chunks from the api thread as fast as the peer takes them. */
export class SnapshotOutbox {
  readonly #dependencies: SnapshotOutboxDependencies
  readonly #limits: SnapshotOutboxLimits
  readonly #streams = new Map<number, Stream>()
  /**
   * Peers that wait for a free stream, in order, so that a peer whose streams break repeatedly does
   * not block the others.
   */
  readonly #waiting = new Map<NodeId, { readonly term: Term; readonly atLeast: LogIndex | null }>()
  /**
   * The last snapshot that each follower received. `logNeeds` removes those of members that are not
   * followers any more.
   */
  readonly #delivered = new Map<NodeId, SentState>()
  /**
   * Followers for which a snapshot was requested and none could be opened since. `logNeeds` removes
   * members that are not followers any more.
   */
  readonly #unserved = new Set<NodeId>()
  #nextStream = 1

  constructor(dependencies: SnapshotOutboxDependencies, limits: SnapshotOutboxLimits) {
    this.#dependencies = dependencies
    this.#limits = limits
  }

  /**
   * Returns the entries that peers need: those that are being sent a snapshot, and other followers.
   *
   * @param followers the current followers of the core
   */
  logNeeds(followers: readonly FollowerStatus[]): readonly LogNeed[] {
    for (const peer of this.#delivered.keys())
      if (!followers.some(({ id }) => id === peer)) this.#delivered.delete(peer)
    for (const peer of this.#unserved)
      if (!followers.some(({ id }) => id === peer)) this.#unserved.delete(peer)
    const needs = [...neededByFollowers(followers, (id) => this.#delivered.get(id) ?? null)]
    for (const { snapshot, bytes } of this.#streams.values())
      if (snapshot !== null) needs.push({ from: snapshot.index, stateBytes: bytes })
    return needs
  }

  /**
   * Returns whether a snapshot for this peer has been requested here and could not be opened so
   * far.
   */
  isUnserved(peer: NodeId): boolean {
    return this.#unserved.has(peer)
  }

  /** Returns whether a stream has been requested and its index is not known yet. */
  get opening(): boolean {
    for (const { snapshot } of this.#streams.values()) if (snapshot === null) return true
    return false
  }

  /**
   * Handles a request of the core: the log does not have the next entries of that peer any more.
   * The core gets a report of the outcome.
   */
  wanted(peer: NodeId): void {
    const stream = this.#streamTo(peer)
    // If the peer itself requested this stream, `failed` is reported at its end, and the core
    // retries.
    if (stream !== null) stream.coreWaits = true
    else if (this.#streams.size >= this.#limits.streamsMax) {
      this.#wait(peer, null)
      this.#dependencies.report(peer, 'failed')
    } else this.#open(peer, null, 'core waits')
  }

  /** Handles a request of the peer itself, which repeats it until it receives a snapshot. */
  wantedBy(peer: NodeId, atLeast: LogIndex): void {
    if (this.#streamTo(peer) !== null) return
    if (this.#streams.size >= this.#limits.streamsMax) this.#wait(peer, atLeast)
    else this.#open(peer, atLeast, 'no report')
  }

  take(answer: SnapshotOutAnswer): void {
    const stream = this.#streams.get(answer.stream)
    if (stream === undefined) return
    switch (answer.kind) {
      case 'source-opened':
        this.#begin(stream, this.#dependencies.complete(answer.snapshot))
        return
      case 'source-chunk':
        if (stream.waiting === null) stream.ready.push(answer.bytes)
        else {
          const waiting = stream.waiting
          stream.waiting = null
          waiting.resolve(answer.bytes)
        }
        return
      case 'source-failed':
        if (stream.snapshot === null) this.#end(stream, 'failed')
        else stream.waiting?.reject(new Error(answer.cause))
        stream.failed = answer.cause
        return
    }
  }

  close(): void {
    for (const stream of this.#streams.values()) stream.waiting?.reject(new Error('stopping'))
    this.#streams.clear()
    this.#waiting.clear()
    this.#delivered.clear()
    this.#unserved.clear()
  }

  #streamTo(peer: NodeId): Stream | null {
    for (const stream of this.#streams.values()) if (stream.to === peer) return stream
    return null
  }

  #wait(peer: NodeId, atLeast: LogIndex | null): void {
    // A request of the peer itself replaces one of the core: a peer that requests a snapshot has no
    // usable state.
    const known = this.#waiting.get(peer)
    this.#waiting.set(peer, { term: this.#dependencies.term, atLeast: atLeast ?? known?.atLeast ?? null })
  }

  #open(peer: NodeId, atLeast: LogIndex | null, core: 'core waits' | 'no report'): void {
    this.#waiting.delete(peer)
    this.#delivered.delete(peer)
    this.#unserved.add(peer)
    const id = this.#nextStream++
    const { term } = this.#dependencies
    const coreWaits = core === 'core waits'
    this.#streams.set(id, {
      id,
      to: peer,
      term,
      atLeast,
      coreWaits,
      snapshot: null,
      bytes: 0,
      ready: [],
      waiting: null,
    })
    this.#dependencies.post({ kind: 'source-open', stream: id, atLeast })
  }

  #begin(stream: Stream, snapshot: SnapshotMeta): void {
    const { self, term, transport } = this.#dependencies
    // A member that sends a snapshot claims to lead its term, and a later term has another leader.
    if (stream.term !== term) return this.#end(stream, 'failed')
    stream.snapshot = snapshot
    this.#unserved.delete(stream.to)
    for (let count = 0; count < this.#limits.windowChunks; count++) this.#pull(stream)
    const purpose = stream.atLeast === null ? 'catch-up' : 'repair'
    const header = { from: self, to: stream.to, term, purpose, snapshot } as const
    transport
      .sendSnapshot(stream.to, header, () => this.#next(stream))
      .then(
        () => this.#end(stream, 'finished'),
        () => this.#end(stream, 'failed'),
      )
  }

  async #next(stream: Stream): Promise<Uint8Array | null> {
    if (stream.failed !== undefined) throw new Error(oneLine(stream.failed))
    const ready = stream.ready.shift()
    if (ready !== undefined) return this.#taken(stream, ready)
    stream.waiting = new Deferred()
    return this.#taken(stream, await stream.waiting.promise)
  }

  #taken(stream: Stream, bytes: Uint8Array | null): Uint8Array | null {
    if (bytes === null) return null
    stream.bytes += bytes.byteLength
    this.#pull(stream)
    return bytes
  }

  #pull(stream: Stream): void {
    if (this.#streams.has(stream.id)) this.#dependencies.post({ kind: 'source-pull', stream: stream.id })
  }

  #end(stream: Stream, outcome: 'finished' | 'failed'): void {
    if (!this.#streams.delete(stream.id)) return
    this.#dependencies.post({ kind: 'source-close', stream: stream.id })
    if (outcome === 'finished' && stream.snapshot !== null) {
      const { commit } = this.#dependencies
      this.#delivered.set(stream.to, { index: stream.snapshot.index, bytes: stream.bytes, commit })
    }
    // Waiting peers come first: on the report the core may request another snapshot for this peer.
    this.#openNext()
    if (stream.coreWaits) this.#dependencies.report(stream.to, stream.atLeast === null ? outcome : 'failed')
  }

  /** Opens the next waiting stream. Requests of an earlier term were made to another leader. */
  #openNext(): void {
    for (const [peer, { term, atLeast }] of this.#waiting) {
      this.#waiting.delete(peer)
      if (term !== this.#dependencies.term || this.#streamTo(peer) !== null) continue
      this.#open(peer, atLeast, 'no report')
      return
    }
  }
}

type Stream = {
  readonly id: number
  readonly to: NodeId
  /** The term in which the snapshot was requested. */
  readonly term: Term
  /** The lowest index that the peer requested; null: the core requested the snapshot. */
  readonly atLeast: LogIndex | null
  /** The core waits for the outcome. */
  coreWaits: boolean
  snapshot: SnapshotMeta | null
  /** Bytes handed to the transport so far. */
  bytes: number
  readonly ready: (Uint8Array | null)[]
  waiting: Deferred<Uint8Array | null> | null
  failed?: string
}
