import { createServer } from 'node:net'
import type { Socket } from 'node:net'
import { assert } from '../base/assert.ts'
import { TransportFailure } from './errors.ts'

/**
 * Where peers dial in. Connections are given away as they come, but known here from the first byte on, so that all of them
 * can be dropped in one moment, those in the middle of a handshake too.
 *
 * Bounded. When full: whoever comes is hung up on.
 */
export class PeerPort {
  readonly #server = createServer({ noDelay: true })
  readonly #sockets = new Set<Socket>()

  constructor(connectionsMax: number, take: (socket: Socket) => void) {
    this.#server.maxConnections = connectionsMax
    this.#server.on('connection', (socket) => {
      this.#sockets.add(socket)
      // Before anybody else listens: an error that nobody hears would end the member.
      socket.on('error', () => undefined)
      socket.on('close', () => this.#sockets.delete(socket))
      take(socket)
    })
  }

  /** Open connections. */
  get size(): number {
    return this.#sockets.size
  }

  /** @param address `host:port`, IPv6 in brackets @returns the port @throws TransportFailure `listen`, `closed` */
  listen(address: string): Promise<number> {
    const colon = address.lastIndexOf(':')
    const host = address.slice(0, colon).replace(/^\[(.*)\]$/, '$1')
    const port = Number(address.slice(colon + 1))
    return new Promise((resolve, reject) => {
      const refuse = (cause: Error): void => reject(cannotListen(address, cause))
      const stop = (): void => reject(new TransportFailure('closed', 'this member stops'))
      this.#server.once('error', refuse)
      // Closed while it looks its host up, a server never listens, and says nothing else.
      this.#server.once('close', stop)
      this.#server.listen({ host, port }, () => {
        this.#server.off('error', refuse)
        this.#server.off('close', stop)
        // What cannot be accepted for a moment, for want of file descriptors say, is tried again by whoever dials.
        this.#server.on('error', () => undefined)
        const bound = this.#server.address()
        assert(typeof bound === 'object' && bound !== null, 'a port was bound')
        resolve(bound.port)
      })
    })
  }

  /** Nobody comes in any more; those who are here stay. */
  close(): void {
    this.#server.close()
  }

  /** Nothing more is read of anybody, from this moment on. */
  hangUp(): void {
    this.close()
    this.dropCallers()
  }

  /** Whoever is here has to come again. */
  dropCallers(): void {
    for (const socket of this.#sockets) socket.destroy()
  }
}

function cannotListen(address: string, cause: Error): TransportFailure {
  return new TransportFailure('listen', `cannot listen for peers on ${address}: ${whyNot(cause)}`, { cause })
}

/** In a few words. */
function whyNot({ message }: Error): string {
  if (message.includes('EADDRINUSE')) return 'the port is taken'
  if (message.includes('EADDRNOTAVAIL')) return 'this machine has no such address'
  if (message.includes('EACCES')) return 'this user may not have that port'
  if (/ENOTFOUND|EAI_AGAIN/.test(message)) return 'no address is known for that name'
  return message
}
