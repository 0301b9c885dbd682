import { assert } from '../../base/assert.ts'
import { Deferred } from '../../base/deferred.ts'
import type { Entry, LogIndex } from '../core/types.ts'
import type { ApiToLog, LogToApi } from '../log/log-protocol.ts'
import type { Channel } from '../ports.ts'
import type { LogReader } from '../node/applier.ts'

/** Reads committed entries from the log thread, for an api thread that lags. */
export class ChannelLogReader implements LogReader {
  readonly #log: Channel<ApiToLog, LogToApi>
  readonly #asked = new Map<number, Deferred<readonly Entry[] | null>>()
  #nextId = 1

  constructor(log: Channel<ApiToLog, LogToApi>) {
    this.#log = log
    log.onMessages((messages) => {
      for (const message of messages) this.#take(message)
    })
  }

  /** See `LogReader`. The applier waits for each result, so few requests are in progress. */
  read(from: LogIndex, to: LogIndex, bytesMax: number): Promise<readonly Entry[] | null> {
    const id = this.#nextId++
    const answer = new Deferred<readonly Entry[] | null>()
    this.#asked.set(id, answer)
    this.#log.post({ kind: 'read', id, from, to, bytesMax })
    return answer.promise
  }

  close(): void {
    this.#asked.clear()
    this.#log.close()
  }

  #take(message: LogToApi): void {
    // The raft thread is notified too, and ends this member.
    if (message.kind === 'failed') return
    const answer = this.#asked.get(message.id)
    if (answer === undefined) return
    this.#asked.delete(message.id)
    if (message.kind === 'read-done') answer.resolve(message.entries)
    else {
      assert(message.reason === 'compacted', 'only existing entries are requested')
      answer.resolve(null)
    }
  }
}
