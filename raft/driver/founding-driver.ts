import type { Clock, Timer } from '../../base/clock.ts'
import type { MemberInfo, NodeId } from '../core/types.ts'
import type { PeerIdentity, Transport } from '../ports.ts'
import { Founding } from '../protocol/founding.ts'
import type { ClusterRecord, FoundingOptions } from '../protocol/founding.ts'
import type { RaftToApi } from '../protocol/thread-messages.ts'

export type FoundingDriverOptions = FoundingOptions & {
  readonly clock: Clock
  readonly transport: Pick<Transport, 'send'>
  readonly post: (message: RaftToApi) => void
  /** Called once, from a turn of its own or at once in `begin`: consensus may begin. */
  readonly onFounded: () => void
}

/**
 * Brings a founding to its end: sends what this member says of itself to the other founders until
 * it is founded, has records made durable, and answers those that are not founded yet.
 */
export class FoundingDriver {
  readonly #options: FoundingDriverOptions
  readonly #founding: Founding
  readonly #others: readonly MemberInfo[]
  #repeat: Timer | null = null
  #isRecording = false
  /** As the api thread was told last. */
  #awaited = ''

  constructor(options: FoundingDriverOptions) {
    this.#options = options
    this.#founding = new Founding(options)
    this.#others = options.members.filter(({ id }) => id !== options.self)
  }

  get identity(): PeerIdentity {
    return this.#founding.identity
  }

  get record(): ClusterRecord | null {
    return this.#founding.record
  }

  begin(): void {
    if (this.#founding.isFounded) return this.#options.onFounded()
    this.#repeat = this.#options.clock.every(repeatMs, () => this.#sendToAll())
    this.#advance()
  }

  /** A peer says this of itself. */
  receive(peer: NodeId, identity: PeerIdentity): void {
    if (this.#founding.isFounded) {
      if (identity.phase !== 'founded') this.#sendTo(peer)
      return
    }
    const before = this.#founding.identity.clusterId
    this.#founding.receive(peer, identity)
    // The others wait for nothing but this.
    if (this.#founding.identity.clusterId !== before) this.#sendToAll()
    this.#advance()
  }

  /** The api thread made it durable. */
  recorded(record: ClusterRecord): void {
    this.#isRecording = false
    this.#founding.recorded(record)
    this.#sendToAll()
    this.#advance()
    if (!record.founded) return
    this.stop()
    this.#options.onFounded()
  }

  stop(): void {
    this.#repeat?.cancel()
    this.#repeat = null
  }

  #advance(): void {
    this.#reportAwaited()
    if (this.#isRecording) return
    const record = this.#founding.next()
    if (record === null) return
    this.#isRecording = true
    this.#options.post({ kind: 'cluster-record', record })
  }

  #reportAwaited(): void {
    const names = this.#founding.awaited
    const list = names.join()
    if (list === this.#awaited) return
    this.#awaited = list
    this.#options.post({ kind: 'founding-awaits', names })
  }

  #sendToAll(): void {
    for (const { id } of this.#others) this.#sendTo(id)
  }

  #sendTo(to: NodeId): void {
    const { transport, self } = this.#options
    transport.send({ kind: 'founding', from: self, to, identity: this.#founding.identity })
  }
}

/** A message may be lost, and a peer come up at any time. */
const repeatMs = 100
