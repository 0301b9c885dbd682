import type { Clock } from '../../base/clock.ts'
import { serviceUnavailable } from '../api/errors/standard-errors.ts'
import { encode } from '../registry/kinds/encode.ts'
import type { OtherRevision } from '../store/command.ts'
import { keyOf } from '../store/key.ts'
import type { Key } from '../store/key.ts'
import type { ObjectStore } from '../store/object-store.ts'
import type { Revision } from '../store/revision.ts'

export type FencingTokenDependencies = {
  readonly store: Pick<ObjectStore, 'view' | 'write'>
  readonly clock: Clock
  /** The name of the object that carries the token. */
  readonly name: string
}

/**
 * A fencing token for decisions of a leader: taking it writes an object, and each write of a
 * decision has the precondition that the object is at that version, which apply checks. So no
 * decision of an earlier holder is written afterwards, and what was written before is in this
 * member's memory once it holds the token. The last member that took it holds it; it involves no
 * terms, leases or clocks.
 *
 * @source Burrows 2006 "The Chubby lock service", section 2.4: sequencers
 */
export class FencingToken {
  readonly #dependencies: FencingTokenDependencies
  readonly #key: Key
  /** The version that this process wrote. null: none, or it must be taken again. */
  #held: Revision | null = null

  constructor(dependencies: FencingTokenDependencies) {
    this.#dependencies = dependencies
    // As for join tokens: no kind has this group, so no API path leads there.
    this.#key = keyOf({ group: 'internal', plural: 'fences', namespace: '', name: dependencies.name })
  }

  /**
   * Takes the token; writes nothing if this process was the last to take it. Decisions must be
   * based on the state in memory after this call.
   *
   * @returns the precondition of every write
   * @throws StoreError; ApiError `ServiceUnavailable` when the storage is full
   */
  async take(timeoutMs: number): Promise<OtherRevision> {
    const { store, clock } = this.#dependencies
    const key = this.#key
    let revision = this.#held
    if (revision === null || store.view().get(key)?.revision !== revision) {
      this.#held = null
      const operations = [{ kind: 'put', key, conditions: [], object: encode(this.#tokenObject()) } as const]
      const outcome = await store.write({ kind: 'write', operations }, clock.monotonicMs() + timeoutMs)
      revision = (outcome.kind === 'done' ? outcome.revisions[0] : undefined) ?? null
      if (revision === null)
        throw serviceUnavailable('the storage is full: delete objects or raise the quota first')
      this.#held = revision
    }
    return { kind: 'other-revision-is', key, revision }
  }

  /**
   * Called when the outcome of a write is unknown. The next decision takes the token again, so that
   * the write cannot be applied after it.
   */
  forget(): void {
    this.#held = null
  }

  /** Nothing refers to the object, so its name serves as its uid. */
  #tokenObject(): Parameters<typeof encode>[0] {
    const { name } = this.#dependencies
    return { kind: 'Fence', apiVersion: 'internal/v1', metadata: { name, uid: name } }
  }
}
