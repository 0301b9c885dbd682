import type { Command, Outcome } from '../../store/command.ts'
import type { KeyPrefix } from '../../store/key.ts'
import type { ObjectStore, PastView, View, WatchCursor, WatchInterest } from '../../store/object-store.ts'
import type { Revision } from '../../store/revision.ts'

/** A store that passes every call on to another one; subclasses change some of them. */
export class ForwardingStore implements ObjectStore {
  readonly #store: ObjectStore

  constructor(store: ObjectStore) {
    this.#store = store
  }

  get identity(): ObjectStore['identity'] {
    return this.#store.identity
  }

  get settings(): ObjectStore['settings'] {
    return this.#store.settings
  }

  get featureLevel(): number {
    return this.#store.featureLevel
  }

  get storage(): ObjectStore['storage'] {
    return this.#store.storage
  }

  get reads(): ObjectStore['reads'] {
    return this.#store.reads
  }

  view(): View {
    return this.#store.view()
  }

  viewAt(revision: Revision): PastView {
    return this.#store.viewAt(revision)
  }

  barrier(deadlineMs: number): Promise<void> {
    return this.#store.barrier(deadlineMs)
  }

  waitFor(revision: Revision, deadlineMs: number): Promise<void> {
    return this.#store.waitFor(revision, deadlineMs)
  }

  write(command: Command, deadlineMs: number): Promise<Outcome> {
    return this.#store.write(command, deadlineMs)
  }

  watch(prefix: KeyPrefix, after: Revision, interest?: WatchInterest | null): WatchCursor {
    return this.#store.watch(prefix, after, interest)
  }

  onReadable(listener: () => void): () => void {
    return this.#store.onReadable(listener)
  }
}
