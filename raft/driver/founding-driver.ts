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
  /** Called once when consensus may begin, in a later turn or within `begin`. */
  readonly onFounded: () => void
}

/**
 * Runs the founding of the cluster: sends the identity of this member to the other founders until
 * the cluster is founded, has records made durable, and answers founders that do not know yet that
 * it is founded.
 */
export class FoundingDriver {
  readonly #options: FoundingDriverOptions
  readonly #founding: Founding
  readonly #others: readonly MemberInfo[]
  #repeat: Timer | null = null
  #isRecording = false
  /** The names that were last sent to the api thread. */
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

  /** Handles the identity that a peer sent. */
  receive(peer: NodeId, identity: PeerIdentity): void {
    if (this.#founding.isFounded) {
      if (identity.phase !== 'founded') this.#sendTo(peer)
      return
    }
    const before = this.#founding.identity.clusterId
    this.#founding.receive(peer, identity)
    // The other founders wait for the new cluster ID, so it is sent at once.
    if (this.#founding.identity.clusterId !== before) this.#sendToAll()
    this.#advance()
  }

  /** Handles the report of the api thread that the record is durable. */
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

/**
 * Period in ms of the messages to the other founders: a message may be lost, or a founder may start
 * later.
 */
const repeatMs = 100
