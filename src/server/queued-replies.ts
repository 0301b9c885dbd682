import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../../raft/base/clock.ts'

/**
 * Ends the replies of HTTP/1.1 that wait behind another one of their connection when that breaks. Node up to 22 (seen
 * with 20.20 and 22.23, not with 24.21) tells only the reply whose turn it is; whoever waits for the `close` of another
 * waits for ever.
 *
 * Bounded by the connections: where nobody reads Node stops to take requests of one.
 */
export class QueuedReplies {
  readonly #clock: Pick<Clock, 'soon'>
  readonly #byConnection = new WeakMap<Socket, Set<ServerResponse>>()

  constructor(clock: Pick<Clock, 'soon'>) {
    this.#clock = clock
  }

  /** A request came on a connection. */
  began(connection: Socket, reply: ServerResponse): void {
    // It has its turn already: Node gave it the connection.
    if (reply.socket !== null) return
    let replies = this.#byConnection.get(connection)
    if (replies === undefined) {
      const queued = new Set<ServerResponse>()
      this.#byConnection.set(connection, queued)
      // In a turn of its own: behind what Node itself tells.
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
