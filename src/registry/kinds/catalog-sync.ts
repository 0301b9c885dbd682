import type { Clock } from '../../../base/clock.ts'
import { tooManyRequests } from '../../api/errors/standard-errors.ts'
import type { ObjectStore } from '../../store/object-store.ts'
import type { RegistryLimits } from '../shared/registry-limits.ts'
import { fromRead } from '../shared/store-error-mapping.ts'

export type CatalogSyncOptions = {
  readonly store: Pick<ObjectStore, 'barrier'>
  readonly clock: Clock
  /** Resolves once the catalog has all definitions that memory has. @throws StoreError */
  readonly definitionsApplied: () => Promise<void>
  readonly limits: Pick<RegistryLimits, 'unknownKindWaitMs' | 'unknownKindWaitsMax'>
}

/**
 * Makes the catalog current before a kind is reported as unknown, because it may just have been
 * defined through another member: this member first applies everything acknowledged so far.
 * Concurrent callers share one round with the leader.
 */
export class CatalogSync {
  readonly #options: CatalogSyncOptions
  #waiting = 0

  constructor(options: CatalogSyncOptions) {
    this.#options = options
  }

  /**
   * Resolves once the catalog has all definitions that were acknowledged before the call.
   *
   * @param deadlineMs of the request; `unknownKindWaitMs` usually ends earlier, so that discovery
   * never hangs
   * @throws ApiError `Timeout` without a quorum; `TooManyRequests` when too many requests wait
   */
  async waitUntilCurrent(deadlineMs: number): Promise<void> {
    const { store, clock, definitionsApplied, limits } = this.#options
    if (this.#waiting >= limits.unknownKindWaitsMax) throw tooManyRequests(1)
    this.#waiting++
    try {
      await fromRead(store.barrier(Math.min(deadlineMs, clock.monotonicMs() + limits.unknownKindWaitMs)))
      await fromRead(definitionsApplied())
    } finally {
      this.#waiting--
    }
  }
}
