import type { StoredObject } from '../../store/object-store.ts'
import type { VerbDependencies } from '../calls/verb-dependencies.ts'

/**
 * The objects that a watch begins with. Where a webhook converts them, they are made readable in
 * batches, so that only one batch of converted objects is held.
 */
export class InitialObjects {
  readonly #dependencies: Pick<VerbDependencies, 'store' | 'limits'>
  readonly #objects: Iterator<StoredObject, void>
  /** Objects that can be read, in order. */
  #ready: readonly StoredObject[] = []
  #readyAt = 0
  /** The first object of the next batch. */
  #next: StoredObject | null = null
  #isDone = false

  constructor(
    dependencies: Pick<VerbDependencies, 'store' | 'limits'>,
    objects: Iterator<StoredObject, void>,
  ) {
    this.#dependencies = dependencies
    this.#objects = objects
  }

  /** Whether `prepare` must be called before `next`. */
  get mustPrepare(): boolean {
    return (
      this.#dependencies.store.conversions !== undefined &&
      this.#readyAt >= this.#ready.length &&
      !this.#isDone
    )
  }

  next(): IteratorResult<StoredObject, void> {
    const ready = this.#ready[this.#readyAt]
    if (ready !== undefined) {
      this.#readyAt++
      return { done: false, value: ready }
    }
    return this.#isDone ? { done: true, value: undefined } : this.#objects.next()
  }

  /** @throws ApiError the next objects cannot be converted */
  async prepare(deadlineMs: number): Promise<void> {
    const { conversions } = this.#dependencies.store
    if (conversions === undefined || !this.mustPrepare) return
    this.#ready = await conversions.readable(this.#batch(), deadlineMs)
    this.#readyAt = 0
  }

  #batch(): readonly StoredObject[] {
    const { conversionBatchBytes, conversionBatchObjects } = this.#dependencies.limits
    const batch: StoredObject[] = []
    let bytes = 0
    while (batch.length < conversionBatchObjects) {
      const object = this.#next ?? this.#objects.next().value ?? null
      this.#next = null
      if (object === null) {
        this.#isDone = true
        break
      }
      bytes += object.byteLength
      if (batch.length > 0 && bytes > conversionBatchBytes) {
        this.#next = object
        break
      }
      batch.push(object)
    }
    return batch
  }
}
