import { Deferred } from '../../base/deferred.ts'
import type { FollowerStatus } from '../core/ready.ts'
import type { LogIndex, NodeId, SnapshotMeta, Term } from '../core/types.ts'
import type { Transport } from '../ports.ts'
import { neededByFollowers } from './log-needs.ts'
import type { LogNeed, SentState } from './log-needs.ts'
import { oneLine } from '../protocol/one-line.ts'
import type { RaftToApi, SnapshotOutAnswer } from '../protocol/thread-messages.ts'

/** What the outbox asks of the driver. */
export interface SnapshotOutboxNeeds {
  readonly self: NodeId
  readonly term: Term
  readonly commit: LogIndex
  readonly transport: Transport
  post(message: RaftToApi): void
  /** The state machine's own idea of the membership, or the log's where it has none. */
  complete(snapshot: SnapshotMeta): SnapshotMeta
  report(peer: NodeId, outcome: 'finished' | 'failed'): void
}

export type SnapshotOutboxLimits = {
  /**
   * Streams at once; peers beyond that are told to wait by a failed report, and the core asks
   * again.
   */
  readonly streamsMax: number
  /** Chunks asked for ahead of the peer. */
  readonly windowChunks: number
}

/**
 * Snapshots on their way to peers: chunks pulled from the api thread as fast as the peer takes
 * them.
 */
export class SnapshotOutbox {
  readonly #needs: SnapshotOutboxNeeds
  readonly #limits: SnapshotOutboxLimits
  readonly #streams = new Map<number, Stream>()
  /**
   * Who found no place, first come first; they get the next ones, so that a peer whose streams
   * break again and again leaves room for others. Bounded by the configuration.
   */
  readonly #waiting = new Map<NodeId, { readonly term: Term; readonly atLeast: LogIndex | null }>()
  /**
   * The states that peers took last. Of those who follow: the others are forgotten when the log is
   * to be cut.
   */
  readonly #delivered = new Map<NodeId, SentState>()
  /**
   * Peers for which a state was requested and none could be opened since. Of those who follow, as
   * above.
   */
  readonly #unserved = new Set<NodeId>()
  #nextStream = 1

  constructor(needs: SnapshotOutboxNeeds, limits: SnapshotOutboxLimits) {
    this.#needs = needs
    this.#limits = limits
  }

  /**
   * What peers need of the log: those that are sent a state, and the others.
   *
   * @param followers of the core, now
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
   * Returns whether the state that this peer needs has been requested here, and could not be opened
   * so far.
   */
  isUnserved(peer: NodeId): boolean {
    return this.#unserved.has(peer)
  }

  /** Whether a stream has been asked for and its index is not known yet. */
  get opening(): boolean {
    for (const { snapshot } of this.#streams.values()) if (snapshot === null) return true
    return false
  }

  /** The core: the log cannot bring that peer back. Answered by a report. */
  wanted(peer: NodeId): void {
    const under = this.#streamTo(peer)
    // What the peer asked for itself comes first; the core asks again.
    if (under !== null) under.coreWaits = true
    else if (this.#streams.size >= this.#limits.streamsMax) {
      this.#wait(peer, null)
      this.#needs.report(peer, 'failed')
    } else this.#open(peer, null, 'core waits')
  }

  /** The peer itself. When it cannot be now, it asks again. */
  wantedBy(peer: NodeId, atLeast: LogIndex): void {
    if (this.#streamTo(peer) !== null) return
    if (this.#streams.size >= this.#limits.streamsMax) this.#wait(peer, atLeast)
    else this.#open(peer, atLeast, 'nobody waits')
  }

  take(answer: SnapshotOutAnswer): void {
    const stream = this.#streams.get(answer.stream)
    if (stream === undefined) return
    switch (answer.kind) {
      case 'source-opened':
        this.#begin(stream, this.#needs.complete(answer.snapshot))
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
    // What it asks for itself is the more: it has no state at all.
    const known = this.#waiting.get(peer)
    this.#waiting.set(peer, { term: this.#needs.term, atLeast: atLeast ?? known?.atLeast ?? null })
  }

  #open(peer: NodeId, atLeast: LogIndex | null, core: 'core waits' | 'nobody waits'): void {
    this.#waiting.delete(peer)
    this.#delivered.delete(peer)
    this.#unserved.add(peer)
    const id = this.#nextStream++
    const { term } = this.#needs
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
    this.#needs.post({ kind: 'source-open', stream: id, atLeast })
  }

  #begin(stream: Stream, snapshot: SnapshotMeta): void {
    const { self, term, transport } = this.#needs
    // Whoever sends a state claims to lead the term it names; the next term has another leader.
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
    if (this.#streams.has(stream.id)) this.#needs.post({ kind: 'source-pull', stream: stream.id })
  }

  #end(stream: Stream, outcome: 'finished' | 'failed'): void {
    if (!this.#streams.delete(stream.id)) return
    this.#needs.post({ kind: 'source-close', stream: stream.id })
    if (outcome === 'finished' && stream.snapshot !== null) {
      const { commit } = this.#needs
      this.#delivered.set(stream.to, { index: stream.snapshot.index, bytes: stream.bytes, commit })
    }
    // Before the core hears of it, which may want a state for this peer once more.
    this.#openNext()
    if (stream.coreWaits) this.#needs.report(stream.to, stream.atLeast === null ? outcome : 'failed')
  }

  /** Wishes of a former term were made to another leader. */
  #openNext(): void {
    for (const [peer, { term, atLeast }] of this.#waiting) {
      this.#waiting.delete(peer)
      if (term !== this.#needs.term || this.#streamTo(peer) !== null) continue
      this.#open(peer, atLeast, 'nobody waits')
      return
    }
  }
}

type Stream = {
  readonly id: number
  readonly to: NodeId
  /** In which the peer was found to need it. */
  readonly term: Term
  /** From where on the peer asked for it; null: the core did. */
  readonly atLeast: LogIndex | null
  /** The core wants to hear how it ended. */
  coreWaits: boolean
  snapshot: SnapshotMeta | null
  /** Handed to the peer so far. */
  bytes: number
  readonly ready: (Uint8Array | null)[]
  waiting: Deferred<Uint8Array | null> | null
  failed?: string
}
