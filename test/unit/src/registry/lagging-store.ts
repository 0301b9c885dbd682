import type { Command, Outcome } from '../../../../src/store/command.ts'
import type { StoreError } from '../../../../src/store/store-errors.ts'
import type { Key } from '../../../../src/store/key.ts'
import type { ObjectStore, StoredObject, View } from '../../../../src/store/object-store.ts'

/** A member whose gets return old versions of some keys until a barrier or a write. */
export class LaggingStore implements ObjectStore {
  readonly #real: ObjectStore
  /** The versions that a get returns instead; null: no object. */
  readonly old = new Map<Key, StoredObject | null>()
  barriers = 0
  barrierFails: StoreError | null = null
  writeFails: StoreError | null = null
  /** Number of writes that succeed before all others fail with `writeFails`, if that is set. */
  writesUntilFailure = 0
  commands = 0

  constructor(real: ObjectStore) {
    this.#real = real
  }

  get identity() {
    return this.#real.identity
  }

  get settings() {
    return this.#real.settings
  }

  get featureLevel() {
    return this.#real.featureLevel
  }

  get reads() {
    return this.#real.reads
  }

  get storage() {
    return this.#real.storage
  }

  view(): View {
    const view = this.#real.view()
    return {
      revision: view.revision,
      get: (key) => (this.old.has(key) ? (this.old.get(key) ?? null) : view.get(key)),
      list: (prefix, options) => view.list(prefix, options),
      count: (prefix) => view.count(prefix),
    }
  }

  async barrier(deadlineMs: number): Promise<void> {
    this.barriers++
    if (this.barrierFails !== null) throw this.barrierFails
    this.old.clear()
    return this.#real.barrier(deadlineMs)
  }

  viewAt(...args: Parameters<ObjectStore['viewAt']>) {
    return this.#real.viewAt(...args)
  }

  waitFor(...args: Parameters<ObjectStore['waitFor']>) {
    return this.#real.waitFor(...args)
  }

  async write(command: Command, deadlineMs: number): Promise<Outcome> {
    this.commands++
    if (this.writesUntilFailure-- <= 0 && this.writeFails !== null) throw this.writeFails
    const outcome = await this.#real.write(command, deadlineMs)
    // A member that applied a command has applied everything before it.
    this.old.clear()
    return outcome
  }

  watch(...args: Parameters<ObjectStore['watch']>) {
    return this.#real.watch(...args)
  }

  onReadable(listener: () => void): () => void {
    return this.#real.onReadable(listener)
  }
}
