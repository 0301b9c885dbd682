import type { Logger } from 'pino'
import type { Clock, Timer } from '../../base/clock.ts'
import { PkiError } from '../pki/errors.ts'
import type { Revision } from '../store/revision.ts'
import { DatabaseError } from '../store/store-errors.ts'

export type PlainTextRemovalOptions = {
  readonly clock: Clock
  readonly log: Pick<Logger, 'info' | 'warn'>
  /** Returns the revision up to which history is trimmed. null: the state is quarantined. */
  readonly trimmed: () => Revision | null
  /**
   * Removes trimmed versions from the files of the database.
   * @returns false: not possible now @throws DatabaseError
   */
  readonly removeTrimmed: () => Promise<boolean>
  /** Removes entries that the database covers from the log. @returns false: not possible now */
  readonly trimLog: () => Promise<boolean>
  readonly record: RemovalRecord
}

/** The resources of which the files have no plain text; outlives the process. */
export type RemovalRecord = {
  readonly read: () => readonly string[]
  /** @throws PkiError */
  readonly write: (resources: readonly string[]) => void
}

const periodMs = 1000

/**
 * Removes plain text from the files of the database and of the log once: after the objects were
 * encrypted, and history has trimmed their earlier versions; and again after an object was in plain
 * text. A record on disk lists the resources for which this was done.
 */
export class PlainTextRemoval {
  readonly #options: PlainTextRemovalOptions
  readonly #timer: Timer
  #state: { readonly after: Revision } | 'unknown' | 'removing' | 'done' = 'unknown'
  #isDatabaseDone = false
  #resources: readonly string[] = []
  #recorded: readonly string[]
  #isClosed = false

  constructor(options: PlainTextRemovalOptions) {
    this.#options = options
    this.#recorded = options.record.read()
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

  /** Called when these resources, and no others, are encrypted from now on. */
  configured(resources: readonly string[]): void {
    this.#resources = resources
    this.#write(this.#recorded.filter((one) => resources.includes(one)))
    if (!this.#isRecorded) this.#reset()
  }

  /** Called when objects that ought to be encrypted are in plain text, or were for a time. */
  plainFound(): void {
    this.#reset()
    this.#write([])
  }

  /** Called when all objects that ought to be encrypted are encrypted at this revision. */
  noneFound(at: Revision): void {
    if (this.#state === 'unknown') this.#state = this.#isRecorded ? 'done' : { after: at }
  }

  get #isRecorded(): boolean {
    return this.#resources.every((one) => this.#recorded.includes(one))
  }

  #reset(): void {
    this.#state = 'unknown'
    this.#isDatabaseDone = false
  }

  #write(resources: readonly string[]): void {
    if (resources.length === this.#recorded.length) return
    this.#recorded = resources
    try {
      this.#options.record.write(resources)
    } catch (cause) {
      if (!(cause instanceof PkiError)) throw cause
      const words = 'could not record the resources of which the files have no plain text'
      this.#options.log.warn({ cause: cause.message }, words)
    }
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
    this.#write(this.#resources)
    const tookMs = Math.round(clock.monotonicMs() - startedMs)
    log.info({ tookMs }, 'the files of database and log have no plain text of encrypted resources any longer')
  }

  /** Does not rewrite the database again while only the log is left. */
  async #attempt(): Promise<boolean> {
    const { log, removeTrimmed, trimLog } = this.#options
    try {
      if (!this.#isDatabaseDone && !(await removeTrimmed())) return false
      if (this.#state !== 'removing' || this.#isClosed) return false
      this.#isDatabaseDone = true
      return await trimLog()
    } catch (cause) {
      if (!(cause instanceof DatabaseError)) throw cause
      const words = 'plain text was not removed from the files of the database, retrying'
      if (!this.#isClosed) log.warn({ cause: cause.message }, words)
      return false
    }
  }
}
