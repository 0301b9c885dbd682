import type { NodeId } from '../../raft/core/types.ts'
import type { TransportReceiver } from '../../raft/ports.ts'
import type { NetworkOptions } from './link.ts'
import type { Owner, World } from './world.ts'

/** A member, as seen from the network. */
type Port = {
  readonly id: NodeId
  readonly owner: Owner
  readonly receiver: TransportReceiver | null
  /** The peers that were reported as ended. */
  readonly endedPeers: Set<NodeId>
}

export type RedialsOptions = {
  readonly world: World
  readonly options: NetworkOptions
  readonly port: (id: NodeId) => Port | undefined
  /** Returns whether messages pass in this direction. */
  readonly isOpen: (from: NodeId, to: NodeId) => boolean
  readonly met: (fault: 'ended') => void
}

/** The longest time from the end of a connection until a new one is refused. */
const redialMsMax = 60

/**
 * Reports to members that a peer has ended, as the real transport does when a connection broke and
 * the peer does not accept a new one, and that it is connected again.
 */
export class Redials {
  readonly #options: RedialsOptions

  constructor(options: RedialsOptions) {
    this.#options = options
  }

  /** The process of the peer has ended. */
  ended(port: Port, peer: NodeId): void {
    const { isOpen } = this.#options
    // A connection to an unreachable address hangs.
    this.#redial(
      port,
      peer,
      () => this.#options.port(peer) === undefined && isOpen(port.id, peer) && isOpen(peer, port.id),
    )
  }

  /**
   * The connections of two members may be reset, and new ones refused, while a link is cut: then
   * both take the other for ended. Rarely that is wrong, because only one direction is cut.
   */
  reset(from: NodeId, to: NodeId): void {
    const { world, port, isOpen } = this.#options
    if (!world.random.chance(isOpen(to, from) ? 0.2 : 0.5)) return
    for (const [id, peer] of [
      [from, to],
      [to, from],
    ] as const) {
      const member = port(id)
      if (member !== undefined) this.#redial(member, peer, () => !isOpen(from, to))
    }
  }

  /** A message or a call arrived. */
  connected(from: Port, to: Port): void {
    this.#reconnect(to, from.id)
    if (!from.endedPeers.has(to.id)) return
    const label = `net ${from.id} reaches ${to.id}`
    this.#options.world.schedule(0, label, from.owner, () => this.#reconnect(from, to.id))
  }

  #redial(member: Port, peer: NodeId, isRefused: () => boolean): void {
    const { world, options, port, met } = this.#options
    const delayMs = options.delayMsMin + world.random.below(redialMsMax)
    world.schedule(delayMs, `net ${member.id} redials ${peer}`, member.owner, () => {
      if (port(member.id) !== member || member.receiver === null || !isRefused()) return
      met('ended')
      member.endedPeers.add(peer)
      member.receiver.ended(peer, true)
    })
  }

  #reconnect(member: Port, peer: NodeId): void {
    if (member.endedPeers.delete(peer)) member.receiver?.ended(peer, false)
  }
}
