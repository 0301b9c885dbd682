import type { LogIndex } from '../../../raft/index.ts'
import type { Discarded, KeyValueDatabases } from './key-value-store.ts'

/** `left`: it could not be removed, which only costs disk space. */
export type QuarantinedDatabaseEvent =
  ({ readonly kind: 'removed' } & Discarded) | { readonly kind: 'left'; readonly cause: string }

/** The quarantined database: kept until its replacement is durable, then removed. */
export class QuarantinedDatabase {
  readonly #databases: Pick<KeyValueDatabases, 'discardQuarantined'>
  readonly #report: (news: QuarantinedDatabaseEvent) => void
  /** null: no replacement is awaited. */
  #until: LogIndex | null = null
  #removal: Promise<void> = Promise.resolve()

  constructor(
    databases: Pick<KeyValueDatabases, 'discardQuarantined'>,
    report: (news: QuarantinedDatabaseEvent) => void = () => undefined,
  ) {
    this.#databases = databases
    this.#report = report
  }

  /**
   * Called when the log rebuilds the state: once it has reached `last`, the replacement has
   * everything that the quarantined database may have had.
   */
  keepUntil(last: LogIndex): void {
    this.#until = last
  }

  /** Called when the trusted database is durable up to `index`. */
  durable(index: LogIndex): void {
    if (this.#until === null || index < this.#until) return
    void this.remove()
  }

  /** Never fails: leftovers are removed later. */
  remove(): Promise<void> {
    this.#until = null
    this.#removal = this.#removal.then(() => this.#remove())
    return this.#removal
  }

  /** Resolves when no removal is in progress. */
  get settled(): Promise<void> {
    return this.#removal
  }

  async #remove(): Promise<void> {
    try {
      const discarded = await this.#databases.discardQuarantined()
      if (discarded !== null) this.#report({ kind: 'removed', ...discarded })
    } catch (cause) {
      this.#report({ kind: 'left', cause: cause instanceof Error ? cause.message : String(cause) })
    }
  }
}
