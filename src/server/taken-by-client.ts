import type { EventEmitter } from 'node:events'
import type { Call } from './call.ts'

/**
 * Resolves when the client took what waits for it, or left.
 * @param sink tells with `drain` that it has room again
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
