import { ForwardingStore } from '../registry/kinds/forwarding-store.ts'
import { SealedObjectError } from '../registry/shared/sealed-object-error.ts'
import { withRevision } from '../registry/kinds/encode.ts'
import type { Command, EncodedObject, Operation, Outcome } from '../store/command.ts'
import type { Key, KeyPrefix } from '../store/key.ts'
import type {
  EventIndex,
  ListSlice,
  ObjectStore,
  PastView,
  StoredObject,
  StoreEvent,
  View,
  WatchCursor,
  WatchInterest,
} from '../store/object-store.ts'
import type { Revision } from '../store/revision.ts'
import { StoreError } from '../store/store-errors.ts'
import { DecryptedObject } from './decrypted-object.ts'
import type { Decryption, SealedFailure } from './decrypted-object.ts'
import { envelopeHead, isSealed, parseEnvelope, sealedObject, sealingContext } from './envelope.ts'
import { PlainCache } from './plain-cache.ts'
import { noEncryption, placeOfKey, sealingPlaceOf } from './resource-keys.ts'
import type { EncryptionKeys } from './resource-keys.ts'
import type { Sealing, SealingKey } from './sealing-key.ts'

export type EncryptedStoreOptions = {
  /** Maximum size of the cached plain contents. */
  readonly cacheBytesMax: number
  readonly onSealed: (failure: SealedFailure) => void
}

type Put = Extract<Operation, { readonly kind: 'put' }>
type Writer = { readonly at: number; readonly put: Put; readonly key: SealingKey }

/**
 * A store whose objects are encrypted outside of the replicated state: log, database, snapshots and
 * other members see opaque bytes. The member that accepts a write encrypts it; each member decrypts
 * what it reads. Objects of resources that are not configured pass as they are.
 */
export class EncryptedStore extends ForwardingStore {
  readonly #store: ObjectStore
  readonly #cache: PlainCache
  /** Shared by all objects, so that those that are still referenced use changed keys. */
  readonly #decryption: { keys: EncryptionKeys } & Omit<Decryption, 'keys'>
  /**
   * By stored object, so that all readers share one. An entry lives as long as the stored object.
   */
  #objects = new WeakMap<StoredObject, DecryptedObject>()
  #events = new WeakMap<StoreEvent, StoreEvent>()
  readonly #indexes = new WeakMap<EventIndex, EventIndex>()
  readonly #readableListeners = new Set<() => void>()

  constructor(store: ObjectStore, options: EncryptedStoreOptions) {
    super(store)
    this.#store = store
    this.#cache = new PlainCache(options.cacheBytesMax)
    this.#decryption = { keys: noEncryption, cache: this.#cache, onSealed: options.onSealed }
  }

  get keys(): EncryptionKeys {
    return this.#decryption.keys
  }

  /**
   * Takes changed keys into use. Views and watches return new objects from now on, so that nothing
   * is used that was derived from an object while the former keys were in use.
   */
  use(keys: EncryptionKeys): void {
    this.#cache.clear()
    this.#objects = new WeakMap()
    this.#events = new WeakMap()
    this.#decryption.keys = keys
    this.notifyReadable()
  }

  /** Notifies readers that objects which could not be decrypted may be readable now. */
  notifyReadable(): void {
    for (const listener of this.#readableListeners) listener()
  }

  override onReadable(listener: () => void): () => void {
    this.#readableListeners.add(listener)
    return () => void this.#readableListeners.delete(listener)
  }

  /**
   * Whether a write would store the object in another form: with another key, encrypted instead
   * of plain, or plain instead of encrypted. False if its resource is not configured.
   */
  isStale(stored: StoredObject): boolean {
    const keys = this.keys.of(stored.key)
    if (keys === null) return false
    const raw = stored instanceof DecryptedObject ? stored.raw : stored
    const envelope = isSealed(raw) ? parseEnvelope(raw) : null
    const { writer } = keys
    if (writer === null || envelope === null) return (writer === null) !== (envelope === null)
    const isSame = writer.provider === envelope.provider && writer.name === envelope.keyName
    return !isSame || !writer.isCurrent(envelope.wrapped)
  }

  /** Whether objects of the same resource may be encrypted. */
  concerns(shown: StoredObject): boolean {
    return shown instanceof DecryptedObject || this.keys.of(shown.key) !== null
  }

  /** @throws SealedObjectError the object cannot be decrypted, or not yet */
  requireReadable(shown: StoredObject): void {
    if (shown instanceof DecryptedObject) shown.requireReadable()
  }

  override view(): View {
    return new DecryptingView(this.#store.view(), this)
  }

  override viewAt(revision: Revision): PastView {
    const view = this.#store.viewAt(revision)
    return {
      revision: view.revision,
      get: async (key) => this.shown(await view.get(key)),
      list: async (prefix, options) => this.shownSlice(await view.list(prefix, options)),
      count: (prefix) => view.count(prefix),
    }
  }

  override write(command: Command, deadlineMs: number): Promise<Outcome> {
    if (command.kind !== 'write') return this.#store.write(command, deadlineMs)
    const writers = this.#writersOf(command.operations)
    if (writers.length === 0) return this.#store.write(command, deadlineMs)
    return this.#writeSealed(command.operations, writers, deadlineMs)
  }

  override watch(prefix: KeyPrefix, after: Revision, interest?: WatchInterest | null): WatchCursor {
    const cursor = this.#store.watch(prefix, after, this.#interest(interest ?? null))
    return {
      get revision() {
        return cursor.revision
      },
      next: (limit) => {
        const events = cursor.next(limit)
        if ('length' in events) return this.#shownEvents(events)
        return events.then((later) => this.#shownEvents(later))
      },
      onMore: (wake) => cursor.onMore(wake),
      close: () => cursor.close(),
    }
  }

  /** Returns an object as readers see it. */
  shown<T extends StoredObject | null>(stored: T): T | DecryptedObject {
    return stored === null || !this.#isHidden(stored) ? stored : this.#decrypted(stored)
  }

  shownSlice(slice: ListSlice): ListSlice {
    const [first, last] = [slice.objects[0], slice.objects.at(-1)]
    if (first === undefined || last === undefined) return slice
    // Lists are sorted by store key. If the first and the last object are of one resource, all are,
    // and have the same encryption keys.
    const isOneResource =
      placeOfKey(first.key) === placeOfKey(last.key) && sealingPlaceOf(first.key) === sealingPlaceOf(last.key)
    const isPlain = isOneResource && !this.#hidesPlain(first)
    if (!slice.objects.some(isPlain ? isSealed : (stored) => this.#isHidden(stored))) return slice
    return { objects: slice.objects.map((stored) => this.shown(stored)), more: slice.more }
  }

  /** Whether an object is encrypted, or in plain text that the configuration does not read. */
  #isHidden(stored: StoredObject): boolean {
    return isSealed(stored) || this.#hidesPlain(stored)
  }

  #hidesPlain({ key }: StoredObject): boolean {
    return this.keys.of(key)?.readsPlain === false
  }

  #decrypted(stored: StoredObject): DecryptedObject {
    let object = this.#objects.get(stored)
    if (object === undefined) {
      object = new DecryptedObject(stored, this.#decryption)
      this.#objects.set(stored, object)
    }
    return object
  }

  #shownEvents(events: readonly StoreEvent[]): readonly StoreEvent[] {
    return events.some((event) => this.#concerns(event)) ? events.map((event) => this.#event(event)) : events
  }

  #concerns({ object, previous }: StoreEvent): boolean {
    return this.#isHidden(object) || (previous !== null && this.#isHidden(previous))
  }

  #event(event: StoreEvent): StoreEvent {
    if (!this.#concerns(event)) return event
    let shown = this.#events.get(event)
    if (shown === undefined) {
      shown = { ...event, object: this.shown(event.object), previous: this.shown(event.previous) }
      this.#events.set(event, shown)
    }
    return shown
  }

  /** Returns an interest whose index reads decrypted events. */
  #interest(interest: WatchInterest | null): WatchInterest | null {
    if (interest?.kind !== 'value') return interest
    let index = this.#indexes.get(interest.index)
    if (index === undefined) {
      const { valuesOf } = interest.index
      index = { valuesOf: (event) => this.#valuesOf(valuesOf, event) }
      this.#indexes.set(interest.index, index)
    }
    return { ...interest, index }
  }

  /**
   * Runs while an entry is applied, so an unreadable object must not throw. An event with such an
   * object does not wake a watch; the watch fails once a later event wakes it.
   */
  #valuesOf(valuesOf: EventIndex['valuesOf'], event: StoreEvent): readonly string[] {
    try {
      return valuesOf(this.#event(event))
    } catch (cause) {
      if (!(cause instanceof SealedObjectError)) throw cause
      return []
    }
  }

  #writersOf(operations: readonly Operation[]): readonly Writer[] {
    if (this.keys.all.length === 0) return []
    return operations.flatMap((put, at) => {
      const key = put.kind === 'put' ? (this.keys.of(put.key)?.writer ?? null) : null
      return key === null || put.kind !== 'put' ? [] : [{ at, put, key }]
    })
  }

  async #writeSealed(
    operations: readonly Operation[],
    writers: readonly Writer[],
    deadlineMs: number,
  ): Promise<Outcome> {
    const written = [...operations]
    for (const { at, put, key } of writers) {
      const sealing = key.sealing(deadlineMs)
      written[at] = sealedPut(put, key, sealing instanceof Promise ? await sealing : sealing)
    }
    const outcome = await this.#store.write({ kind: 'write', operations: written }, deadlineMs)
    if (outcome.kind !== 'done') return outcome
    for (const { at, put } of writers) this.#keepPlain(put.key, put.object, outcome.revisions[at])
    return outcome
  }

  /**
   * Caches the plain content of a write, which the response and the watches of this member need.
   */
  #keepPlain(key: Key, object: EncodedObject, revision: Revision | undefined): void {
    try {
      const stored = this.view().get(key)
      if (revision === undefined || stored?.revision !== revision) return
      if (stored instanceof DecryptedObject)
        stored.accept({ bytes: withRevision(object, revision), labels: object.labels })
    } catch (cause) {
      // The write succeeded, whatever happened to the state since then.
      if (!(cause instanceof StoreError)) throw cause
    }
  }
}

/** A class without closures, because a request creates several views. */
class DecryptingView implements View {
  readonly revision: Revision
  readonly #view: View
  readonly #store: EncryptedStore

  constructor(view: View, store: EncryptedStore) {
    this.revision = view.revision
    this.#view = view
    this.#store = store
  }

  get(key: Key): StoredObject | null {
    return this.#store.shown(this.#view.get(key))
  }

  list(prefix: KeyPrefix, options: Parameters<View['list']>[1]): ListSlice {
    return this.#store.shownSlice(this.#view.list(prefix, options))
  }

  count(prefix: KeyPrefix): number {
    return this.#view.count(prefix)
  }
}

function sealedPut(put: Put, { provider, name }: SealingKey, { cipher, wrapped }: Sealing): Put {
  const { key, object } = put
  const { bytes, itemOffset, revisionOffset, uid, terminating, labels } = object
  const offsets = { itemOffset, revisionOffset, objectBytes: bytes.byteLength }
  const head = envelopeHead({ provider, keyName: name, wrapped, ...offsets })
  const content = labels === null ? bytes : Buffer.concat([bytes, Buffer.from(JSON.stringify(labels))])
  const sealed = cipher.seal(content, sealingContext(head, { key, uid, terminating }))
  return { ...put, object: sealedObject(head, sealed, object) }
}
