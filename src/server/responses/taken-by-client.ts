import type { EventEmitter } from 'node:events'
import type { Call } from '../calls/call.ts'

/**
 * Resolves when the client has read what waits for it, or has disconnected.
 * @param sink emits `drain` when it has space again
 */
export function takenByClient(call: Call, sink: EventEmitter): Promise<void> {
  return new Promise((resolve) => {
    const { reply } = call
    if (call.closed) {
      resolve()
      return
    }
    call.noteBlocked()
    const go = (): void => {
      call.noteTaken()
      sink.off('drain', go)
      reply.off('close', go)
      resolve()
    }
    sink.on('drain', go)
    reply.on('close', go)
  })
}
