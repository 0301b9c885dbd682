import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../../../base/clock.ts'

/**
 * Ends pipelined HTTP/1.1 replies that are queued behind another reply when their connection
 * breaks. Node up to 22 (seen with 20.20 and 22.23, not with 24.21) emits `close` only on the reply
 * that is being sent, so resources released on the `close` of a queued reply would be held for
 * ever.
 *
 * Bounded by the connections: Node stops reading requests from a connection whose replies are not
 * read.
 */
export class QueuedReplies {
  readonly #clock: Pick<Clock, 'soon'>
  readonly #byConnection = new WeakMap<Socket, Set<ServerResponse>>()

  constructor(clock: Pick<Clock, 'soon'>) {
    this.#clock = clock
  }

  /** To be called for each request of a connection. */
  began(connection: Socket, reply: ServerResponse): void {
    // Not queued: Node has assigned the connection to it.
    if (reply.socket !== null) return
    let replies = this.#byConnection.get(connection)
    if (replies === undefined) {
      const queued = new Set<ServerResponse>()
      this.#byConnection.set(connection, queued)
      // In a later turn, after Node has emitted its own events.
      connection.once('close', () => this.#clock.soon(() => end(queued)))
      replies = queued
    }
    replies.add(reply)
    reply.once('close', () => replies.delete(reply))
  }
}

function end(queued: ReadonlySet<ServerResponse>): void {
  for (const reply of [...queued]) {
    reply.destroy()
    reply.emit('close')
  }
}
