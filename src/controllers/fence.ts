import type { Clock } from '../../base/clock.ts'
import { serviceUnavailable } from '../api/errors/standard-errors.ts'
import { encode } from '../registry/kinds/encode.ts'
import type { OtherRevision } from '../store/command.ts'
import { keyOf } from '../store/key.ts'
import type { Key } from '../store/key.ts'
import type { ObjectStore } from '../store/object-store.ts'
import type { Revision } from '../store/revision.ts'

export type FenceParts = {
  readonly store: Pick<ObjectStore, 'view' | 'write'>
  readonly clock: Clock
  /** What is decided under it: a name of an object. */
  readonly name: string
}

/**
 * Tells whoever decides now from whoever did before: taking the fence writes its mark in the store anew, and all that is
 * decided behind it is only written while the mark is at that version, which apply looks at. So nothing that was decided
 * before is written after, and what was written before is in this member's memory once it has the fence. Who took it last has
 * it; it knows no terms, no leases, no time.
 *
 * @source Burrows 2006 "The Chubby lock service", section 2.4: sequencers
 */
export class Fence {
  readonly #parts: FenceParts
  readonly #key: Key
  /** The version of the mark that this process wrote. null: none, or it wants another. */
  #held: Revision | null = null

  constructor(parts: FenceParts) {
    this.#parts = parts
    // As with join tokens: no kind has this group, so no path of the API leads there.
    this.#key = keyOf({ group: 'internal', plural: 'fences', namespace: '', name: parts.name })
  }

  /**
   * Writes nothing where this process was the last to take it. What memory has behind this call is to be decided on.
   *
   * @returns what every write has to be bound to
   * @throws StoreError; ApiError `ServiceUnavailable` there is no room for it
   */
  async take(timeoutMs: number): Promise<OtherRevision> {
    const { store, clock } = this.#parts
    const key = this.#key
    let revision = this.#held
    if (revision === null || store.view().get(key)?.revision !== revision) {
      this.#held = null
      const operations = [{ kind: 'put', key, conditions: [], object: encode(this.#mark()) } as const]
      const outcome = await store.write({ kind: 'write', operations }, clock.monotonicMs() + timeoutMs)
      revision = (outcome.kind === 'done' ? outcome.revisions[0] : undefined) ?? null
      if (revision === null) throw serviceUnavailable('the storage is full: make room first')
      this.#held = revision
    }
    return { kind: 'other-revision-is', key, revision }
  }

  /** Nobody knows what became of a write: it must not come to pass behind the next decision, which takes the fence anew. */
  letGo(): void {
    this.#held = null
  }

  /** Nobody refers to it, so its name is all it needs. */
  #mark(): Parameters<typeof encode>[0] {
    const { name } = this.#parts
    return { kind: 'Fence', apiVersion: 'internal/v1', metadata: { name, uid: name } }
  }
}
