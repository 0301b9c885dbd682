import type { LogIndex } from '../../../raft/index.ts'
import type { Discarded, KeyValueDatabases } from './key-value-store.ts'

/** `left`: it could not be removed, which only costs disk space. */
export type QuarantinedDatabaseEvent =
  ({ readonly kind: 'removed' } & Discarded) | { readonly kind: 'left'; readonly cause: string }

/** The database that was set aside: kept until what took its place is durable, then removed. */
export class QuarantinedDatabase {
  readonly #home: Pick<KeyValueDatabases, 'discardQuarantined'>
  readonly #tell: (news: QuarantinedDatabaseEvent) => void
  /** null: nothing is waited for. */
  #until: LogIndex | null = null
  #removal: Promise<void> = Promise.resolve()

  constructor(
    home: Pick<KeyValueDatabases, 'discardQuarantined'>,
    tell: (news: QuarantinedDatabaseEvent) => void,
  ) {
    this.#home = home
    this.#tell = tell
  }

  /** The log makes another: by `last` that one holds whatever the old one may have held. */
  keepUntil(last: LogIndex): void {
    this.#until = last
  }

  /** A trusted database is durable up to there. */
  durable(index: LogIndex): void {
    if (this.#until === null || index < this.#until) return
    void this.remove()
  }

  /** Never fails: what is left over is removed another time. */
  remove(): Promise<void> {
    this.#until = null
    this.#removal = this.#removal.then(() => this.#remove())
    return this.#removal
  }

  /** No removal is under way: something may take its place. */
  get settled(): Promise<void> {
    return this.#removal
  }

  async #remove(): Promise<void> {
    try {
      const discarded = await this.#home.discardQuarantined()
      if (discarded !== null) this.#tell({ kind: 'removed', ...discarded })
    } catch (cause) {
      this.#tell({ kind: 'left', cause: cause instanceof Error ? cause.message : String(cause) })
    }
  }
}
