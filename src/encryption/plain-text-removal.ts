import type { Logger } from 'pino'
import type { Clock, Timer } from '../../base/clock.ts'
import type { Revision } from '../store/revision.ts'
import { DatabaseError } from '../store/store-errors.ts'

export type PlainTextRemovalOptions = {
  readonly clock: Clock
  readonly log: Pick<Logger, 'info' | 'warn'>
  /** History is trimmed up to here. null: the state is quarantined. */
  readonly trimmed: () => Revision | null
  /**
   * Removes trimmed versions from the files of the database.
   * @returns false: not now @throws DatabaseError
   */
  readonly removeTrimmed: () => Promise<boolean>
  /** Removes what the database holds from the files of the log. @returns false: not now */
  readonly trimLog: () => Promise<boolean>
}

const periodMs = 1000

/**
 * Removes plain text from the files of the database and of the log once: after the objects were
 * encrypted, and history has trimmed their earlier versions. A process cannot know what the files have from
 * earlier processes, so each one does it once; and again after objects were in plain text.
 */
export class PlainTextRemoval {
  readonly #options: PlainTextRemovalOptions
  readonly #timer: Timer
  #state: { readonly after: Revision } | 'unknown' | 'removing' | 'done' = 'unknown'
  #isDatabaseDone = false
  #isClosed = false

  constructor(options: PlainTextRemovalOptions) {
    this.#options = options
    this.#timer = options.clock.every(periodMs, () => this.#look())
  }

  close(): void {
    this.#isClosed = true
    this.#timer.cancel()
  }

  /** Whether nothing in plain text remains in database and log, as far as is known. */
  get isDone(): boolean {
    return this.#state === 'done'
  }

  /** Some objects are in plain text and ought to be encrypted. */
  plainFound(): void {
    this.#state = 'unknown'
    this.#isDatabaseDone = false
  }

  /** At this revision no object is in plain text that ought to be encrypted. */
  noneFound(at: Revision): void {
    if (this.#state === 'unknown') this.#state = { after: at }
  }

  #look(): void {
    const { trimmed } = this.#options
    if (typeof this.#state !== 'object') return
    const upTo = trimmed()
    if (upTo === null || upTo < this.#state.after) return
    void this.#remove(this.#state)
  }

  /** Never rejects. */
  async #remove(awaited: { readonly after: Revision }): Promise<void> {
    const { clock, log } = this.#options
    const startedMs = clock.monotonicMs()
    this.#state = 'removing'
    const isRemoved = await this.#attempt()
    if (this.#state !== 'removing' || this.#isClosed) return
    this.#state = isRemoved ? 'done' : awaited
    if (!isRemoved) return
    const tookMs = Math.round(clock.monotonicMs() - startedMs)
    log.info({ tookMs }, 'the files of database and log have no plain text of encrypted resources any longer')
  }

  /** A database that was rewritten is not rewritten again while the log waits. */
  async #attempt(): Promise<boolean> {
    const { log, removeTrimmed, trimLog } = this.#options
    try {
      if (!this.#isDatabaseDone && !(await removeTrimmed())) return false
      if (this.#state !== 'removing' || this.#isClosed) return false
      this.#isDatabaseDone = true
      return await trimLog()
    } catch (cause) {
      if (!(cause instanceof DatabaseError)) throw cause
      const words = 'plain text was not removed from the files of the database: it is tried again'
      if (!this.#isClosed) log.warn({ cause: cause.message }, words)
      return false
    }
  }
}
