import type { Key, KeyPrefix } from '../../store/key.ts'
import type { ObjectStore, StoredObject } from '../../store/object-store.ts'
import type { ConvertibleStore } from './convertible-store.ts'
import { noRevision } from '../../store/revision.ts'
import type { Revision } from '../../store/revision.ts'

/**
 * The reads of one evaluation of a write from this member's memory. The evaluation is valid as long
 * as the same reads would return the same: so a refusal needs a read barrier, but not always a
 * second evaluation.
 */
export class ReadSet {
  /** The store in the version of the request. */
  readonly #store: ConvertibleStore
  /** The store of all kinds, with objects as stored. */
  readonly #rawStore: ObjectStore
  /**
   * Reads of single objects as a linked list, newest first; bounded by the steps of one evaluation.
   */
  #last: Read | null = null
  /** The revision of memory when a whole collection was read; null: none was read. */
  #collectionsAt: Revision | null = null
  /** Collections of other kinds as a linked list; bounded like `#last`. */
  #lastList: ListRead | null = null
  #featureLevel: number | null = null
  #bytes = 0
  /** The object that `prepare` made readable; null: nothing was prepared. */
  #prepared: { readonly key: Key; readonly object: StoredObject | null } | null = null

  constructor(stores: { readonly store: ConvertibleStore; readonly rawStore: ObjectStore }) {
    this.#store = stores.store
    this.#rawStore = stores.rawStore
  }

  /**
   * Makes an object of the written kind readable, if a webhook has to convert it.
   *
   * @throws ApiError it cannot be converted
   */
  async prepare(key: Key, deadlineMs: number): Promise<void> {
    const { conversions } = this.#store
    if (conversions === undefined) return
    const stored = this.#store.view().get(key)
    const [object = null] = stored === null ? [] : await conversions.readable([stored], deadlineMs)
    this.#prepared = { key, object }
  }

  /** Returns an object of the written kind, in the version of the request. */
  get(key: Key): StoredObject | null {
    const stored = this.#store.view().get(key)
    const { conversions } = this.#store
    if (stored === null || conversions === undefined || conversions.isReadable(stored))
      return this.#noted(key, stored)
    // The object changed while the previous version was converted. The evaluation is based on the
    // previous version, so its command will lose the race.
    const isPrepared = this.#prepared?.key === key
    return this.#noted(key, isPrepared ? (this.#prepared?.object ?? null) : stored)
  }

  /** Returns an object of another kind, as stored. */
  getOther(key: Key): StoredObject | null {
    return this.#noted(key, this.#rawStore.view().get(key))
  }

  /** Returns all objects of the written kind under the prefix. */
  list(prefix: KeyPrefix): readonly StoredObject[] {
    const view = this.#store.view()
    this.#collectionsAt ??= view.revision
    return view.list(prefix, { after: null, limit: null }).objects
  }

  /** Returns the objects of another kind under the prefix, as stored. For small collections. */
  listOther(prefix: KeyPrefix): readonly StoredObject[] {
    const { objects } = this.#rawStore.view().list(prefix, { after: null, limit: null })
    this.#lastList = { prefix, objects, before: this.#lastList }
    return objects
  }

  /**
   * Returns some objects of another kind, and the number of all. For warnings only: the evaluation
   * does not depend on them.
   */
  sampleOther(
    prefix: KeyPrefix,
    limit: number,
  ): { readonly objects: readonly StoredObject[]; readonly count: number } {
    const view = this.#rawStore.view()
    const { objects, more } = view.list(prefix, { after: null, limit })
    return { objects, count: more ? view.count(prefix) : objects.length }
  }

  /** Bytes of the single objects that were read. */
  get bytes(): number {
    return this.#bytes
  }

  get featureLevel(): number {
    const { featureLevel } = this.#rawStore
    this.#featureLevel ??= featureLevel
    return featureLevel
  }

  /** Returns the revision of an object that was read; `noRevision`: it was absent, or not read. */
  revisionOf(key: Key): Revision {
    let read = this.#last
    while (read !== null && read.key !== key) read = read.before
    return read?.revision ?? noRevision
  }

  /** Whether nothing was read: the evaluation does not depend on memory. */
  get isEmpty(): boolean {
    const isEmpty = this.#last === null && this.#lastList === null
    return isEmpty && this.#collectionsAt === null && this.#featureLevel === null
  }

  /** Whether every read would return the same now. */
  isCurrent(): boolean {
    const view = this.#rawStore.view()
    if (this.#collectionsAt !== null && this.#collectionsAt !== view.revision) return false
    if (this.#featureLevel !== null && this.#featureLevel !== this.#rawStore.featureLevel) return false
    for (let read = this.#last; read !== null; read = read.before) {
      if ((view.get(read.key)?.revision ?? null) !== read.revision) return false
    }
    for (let read = this.#lastList; read !== null; read = read.before) {
      const { objects } = view.list(read.prefix, { after: null, limit: null })
      if (!isSameList(objects, read.objects)) return false
    }
    return true
  }

  #noted(key: Key, stored: StoredObject | null): StoredObject | null {
    this.#last = { key, revision: stored?.revision ?? null, before: this.#last }
    this.#bytes += stored?.byteLength ?? 0
    return stored
  }
}

type Read = {
  readonly key: Key
  /** null: absent. */
  readonly revision: Revision | null
  readonly before: Read | null
}

type ListRead = {
  readonly prefix: KeyPrefix
  readonly objects: readonly StoredObject[]
  readonly before: ListRead | null
}

function isSameList(a: readonly StoredObject[], b: readonly StoredObject[]): boolean {
  return (
    a.length === b.length &&
    a.every(({ key, revision }, at) => b[at]?.key === key && b[at].revision === revision)
  )
}
