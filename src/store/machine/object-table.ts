import { assert } from '../../../base/assert.ts'
import type { Key, KeyPrefix } from '../key.ts'
import { KeyOrder } from './key-order.ts'
import type { Version } from './object-version.ts'

/** The newest version of every object: looked up by key, iterated in key order by prefix. */
export class ObjectTable {
  readonly #byKey = new Map<Key, Version>()
  readonly #order = new KeyOrder<Version>()

  get size(): number {
    return this.#byKey.size
  }

  get(key: Key): Version | null {
    return this.#byKey.get(key) ?? null
  }

  set(version: Version): void {
    this.#byKey.set(version.key, version)
    this.#order.set(version)
  }

  delete(key: Key): void {
    assert(this.#byKey.delete(key), 'a deleted object was there')
    this.#order.delete(key)
  }

  /**
   * Returns objects under `prefix` after the key `after`, in key order.
   * @param limit maximum number; null for all
   */
  list(
    prefix: KeyPrefix | '',
    after: Key | null,
    limit: number | null,
  ): { readonly objects: Version[]; readonly more: boolean } {
    const { items, more } = this.#order.list(prefix, after, limit)
    return { objects: items, more }
  }

  /** As `list`, lazily. Valid until something is applied: not across an `await`. */
  walk(prefix: KeyPrefix, after: Key | null): Generator<Version, void> {
    return this.#order.walk(prefix, after)
  }

  /** Cheap even for many objects. */
  count(prefix: KeyPrefix | ''): number {
    return this.#order.count(prefix)
  }

  /** Returns the first object under `prefix` that `accept` accepts. */
  first(prefix: string, accept: (version: Version) => boolean): Version | null {
    return this.#order.first(prefix, accept)
  }
}
