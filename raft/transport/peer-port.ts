import { createServer } from 'node:net'
import type { Socket } from 'node:net'
import { assert } from '../../base/assert.ts'
import type { Clock, Timer } from '../../base/clock.ts'
import { TransportError } from './errors.ts'
import type { ConnectionRefusal } from './events.ts'

export type PeerPortOptions = {
  readonly clock: Clock
  /** Limit of the open connections. Above it new ones are closed at once. */
  readonly connectionsMax: number
  /**
   * Time limit from accepting a connection to its first accepted handshake, TLS included. A
   * connection that exceeds it is closed.
   */
  readonly handshakeMs: number
  /** Called with each accepted connection. */
  readonly take: (socket: Socket) => void
  /** Called when a connection was closed because it exceeded a limit, or took too long. */
  readonly refused: (refused: RefusedConnection) => void
}

export type RefusedConnection = {
  readonly reason: ConnectionRefusal
  readonly remote: string
  readonly detail: string
}

/**
 * The port that peers connect to. Connections are passed on at once, but tracked here from their
 * beginning, so that all of them can be closed at once, including those during a handshake.
 *
 * The number of connections is limited: of all, from one address, and from addresses from which no
 * member has connected yet. The time until a handshake is accepted is limited too. These limits
 * prevent callers without a certificate from locking the members out.
 */
export class PeerPort {
  readonly #server = createServer({ noDelay: true })
  readonly #options: PeerPortOptions
  readonly #callers = new Map<Socket, Caller>()
  /** Callers by the name that gRPC has for the other end; see `remoteOf`. */
  readonly #byRemote = new Map<string, Caller>()
  readonly #fromAddress = new Map<string, number>()
  /**
   * Addresses from which a handshake was accepted, the latest last. Above `knownAddressesMax` the
   * oldest is removed.
   */
  readonly #known = new Set<string>()
  #unknown = 0

  constructor(options: PeerPortOptions) {
    this.#options = options
    this.#server.maxConnections = options.connectionsMax
    this.#server.on('drop', (dropped) => {
      this.#refused(remoteOf(dropped?.remoteAddress, dropped?.remotePort), 'all connections are in use')
    })
    this.#server.on('connection', (socket) => {
      // The listener is added first, because an error without one would end the process.
      socket.on('error', () => undefined)
      const refusal = this.#admit(socket)
      if (refusal === null) return options.take(socket)
      this.#refused(remoteOf(socket.remoteAddress, socket.remotePort), refusal)
      socket.destroy()
    })
  }

  /**
   * Records that a member's handshake was accepted on this connection.
   *
   * @param remote its other end, `address:port`, as gRPC names it
   */
  accepted(remote: string): void {
    const caller = this.#byRemote.get(remote)
    if (caller === undefined) return
    caller.deadline.cancel()
    if (!caller.isKnown) this.#unknown--
    caller.isKnown = true
    this.#known.delete(caller.address)
    this.#known.add(caller.address)
    for (const oldest of this.#known) {
      if (this.#known.size <= knownAddressesMax) return
      this.#known.delete(oldest)
    }
  }

  #refused(remote: string, detail: string): void {
    this.#options.refused({ reason: 'too-many-connections', remote, detail })
  }

  /** Tracks a connection. Returns why it is refused; null: it is accepted. */
  #admit(socket: Socket): string | null {
    const { clock, connectionsMax, handshakeMs } = this.#options
    const address = socket.remoteAddress ?? ''
    const isKnown = this.#known.has(address)
    const count = this.#fromAddress.get(address) ?? 0
    if (count >= share(connectionsMax, addressShare)) return `its address already has ${count} connections`
    if (!isKnown && this.#unknown >= share(connectionsMax, unknownShare)) {
      return `addresses without an accepted member already have ${this.#unknown} connections`
    }
    const remote = remoteOf(address, socket.remotePort)
    const deadline = clock.after(handshakeMs, () => {
      const detail = `no member of the cluster within ${handshakeMs} ms of connecting`
      this.#options.refused({ reason: 'no-handshake', remote, detail })
      socket.destroy()
    })
    const caller = { address, isKnown, deadline }
    this.#callers.set(socket, caller)
    this.#byRemote.set(remote, caller)
    this.#fromAddress.set(address, count + 1)
    if (!isKnown) this.#unknown++
    socket.on('close', () => this.#gone(socket, remote, caller))
    return null
  }

  #gone(socket: Socket, remote: string, caller: Caller): void {
    caller.deadline.cancel()
    this.#callers.delete(socket)
    if (this.#byRemote.get(remote) === caller) this.#byRemote.delete(remote)
    if (!caller.isKnown) this.#unknown--
    const left = (this.#fromAddress.get(caller.address) ?? 1) - 1
    if (left > 0) this.#fromAddress.set(caller.address, left)
    else this.#fromAddress.delete(caller.address)
  }

  /** The number of open connections. */
  get size(): number {
    return this.#callers.size
  }

  /**
   * Starts listening.
   *
   * @param address `host:port`, IPv6 in brackets
   * @returns the port
   * @throws TransportError `listen`, `closed`
   */
  listen(address: string): Promise<number> {
    const colon = address.lastIndexOf(':')
    const host = address.slice(0, colon).replace(/^\[(.*)\]$/, '$1')
    const port = Number(address.slice(colon + 1))
    return new Promise((resolve, reject) => {
      const refuse = (cause: Error): void => reject(cannotListen(address, cause))
      const stop = (): void => reject(new TransportError('closed', 'this member stops'))
      this.#server.once('error', refuse)
      // A server that is closed during its host lookup never listens, and emits nothing else.
      this.#server.once('close', stop)
      this.#server.listen({ host, port }, () => {
        this.#server.off('error', refuse)
        this.#server.off('close', stop)
        // A failure to accept, such as a lack of file descriptors, is temporary: the peer connects
        // again.
        this.#server.on('error', () => undefined)
        const bound = this.#server.address()
        assert(typeof bound === 'object' && bound !== null, 'a port was bound')
        resolve(bound.port)
      })
    })
  }

  /** Stops accepting connections; open ones stay. */
  close(): void {
    this.#server.close()
  }

  /** Stops accepting connections, and closes those that are open. */
  disconnect(): void {
    this.close()
    this.dropCallers()
  }

  /** Closes all connections; callers have to connect again. */
  dropCallers(): void {
    for (const socket of this.#callers.keys()) socket.destroy()
  }
}

type Caller = {
  readonly address: string
  /** Whether a member has connected from this address. */
  isKnown: boolean
  readonly deadline: Timer
}

/** Share of all connections for one address. Several members behind a proxy may have the same. */
const addressShare = 1 / 4
/** Share of all connections for addresses that no member has connected from. */
const unknownShare = 1 / 2
/** Twice the number of members that a cluster may have, because members may move. */
const knownAddressesMax = 64

/** Returns the name that gRPC has for the other end. */
function remoteOf(address: string | undefined, port: number | undefined): string {
  return `${address ?? ''}:${port ?? 0}`
}

function share(connectionsMax: number, part: number): number {
  return Math.max(2, Math.floor(connectionsMax * part))
}

function cannotListen(address: string, cause: Error): TransportError {
  return new TransportError('listen', `cannot listen for peers on ${address}: ${listenProblem(cause)}`, {
    cause,
  })
}

/** Returns the cause in a few words. */
function listenProblem({ message }: Error): string {
  if (message.includes('EADDRINUSE')) return 'the port is taken'
  if (message.includes('EADDRNOTAVAIL')) return 'this machine has no such address'
  if (message.includes('EACCES')) return 'this user may not use that port'
  if (/ENOTFOUND|EAI_AGAIN/.test(message)) return 'that name has no known address'
  return message
}
