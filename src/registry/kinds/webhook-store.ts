import { copied } from '../../../base/copied.ts'
import { internal } from '../../api/errors/standard-errors.ts'
import type { Command, EncodedObject, Operation, Outcome } from '../../store/command.ts'
import { prefixOf } from '../../store/key.ts'
import type { Key, KeyPrefix } from '../../store/key.ts'
import type {
  ObjectStore,
  PastView,
  StoredObject,
  StoreEvent,
  View,
  WatchCursor,
  WatchInterest,
} from '../../store/object-store.ts'
import type { Revision } from '../../store/revision.ts'
import { CachedConversions } from './cached-conversions.ts'
import type { CachedConversionsOptions } from './cached-conversions.ts'
import type { ConvertibleStore, ObjectsRead, StoreConversions } from '../shared/convertible-store.ts'
import { placeOf } from './definition.ts'
import type { ResourceDefinition, StoredVersion, WebhookConversion } from './definition.ts'
import { atRevision, encode, parseStored, withRevision } from './encode.ts'
import { ForwardingStore } from './forwarding-store.ts'
import { asRequested, hasHead, shownVersion } from './stored-version.ts'
import type { ShownVersion } from './stored-version.ts'

export type WebhookStoreOptions = Pick<CachedConversionsOptions, 'clock' | 'limits' | 'converter' | 'cache'>

type Put = Extract<Operation, { readonly kind: 'put' }>

/**
 * A store as seen by a version of a kind whose objects a webhook converts. Objects that are stored
 * in this version need no call. Others are read in two steps: `conversions` makes them readable,
 * and then they are like those of any store. Writes are converted to the storage version before
 * they are proposed, and back, because the response must be what later reads return.
 */
export class WebhookStore extends ForwardingStore implements ConvertibleStore, StoreConversions {
  readonly #store: ObjectStore
  readonly #version: ShownVersion
  readonly #webhook: WebhookConversion
  readonly #place: KeyPrefix
  readonly #options: WebhookStoreOptions
  readonly #cached: CachedConversions
  /** Events of this version, for all watches. An entry lives as long as its event in the store. */
  readonly #events = new WeakMap<StoreEvent, StoreEvent>()

  /** @param version of `definition` */
  constructor(
    store: ObjectStore,
    definition: ResourceDefinition,
    version: StoredVersion & { readonly webhook: WebhookConversion },
    options: WebhookStoreOptions,
  ) {
    super(store)
    this.#store = store
    this.#version = shownVersion(definition, version)
    this.#webhook = version.webhook
    this.#place = prefixOf({ namespace: null, ...placeOf(definition) })
    this.#options = options
    this.#cached = new CachedConversions({ ...options, version: this.#version, webhook: this.#webhook })
  }

  get conversions(): StoreConversions {
    return this
  }

  isReadable(stored: StoredObject): boolean {
    return !(stored instanceof WebhookObject) || stored.isReadable
  }

  async readable(objects: readonly StoredObject[], deadlineMs: number): Promise<readonly StoredObject[]> {
    const waiting = objects.filter((stored) => !this.isReadable(stored))
    if (waiting.length === 0) return objects
    const found = await this.#cached.bytesOf(waiting.map(rawOf), deadlineMs)
    return objects.map((stored) => {
      const bytes = this.isReadable(stored) ? undefined : found.get(this.#cached.keyOf(stored))
      return bytes === undefined ? stored : new WebhookObject(rawOf(stored), this.#version, bytes)
    })
  }

  async dryRun(operations: readonly Operation[], deadlineMs: number): Promise<void> {
    await this.#converted(operations, deadlineMs)
  }

  override view(): View {
    const view = this.#store.view()
    return {
      revision: view.revision,
      get: (key) => this.#found(view.get(key)),
      list: (prefix, options) => this.#slice(view.list(prefix, options)),
      count: (prefix) => view.count(prefix),
    }
  }

  override viewAt(revision: Revision): PastView {
    const view = this.#store.viewAt(revision)
    return {
      revision: view.revision,
      get: async (key) => this.#found(await view.get(key)),
      list: async (prefix, options) => this.#slice(await view.list(prefix, options)),
      count: (prefix) => view.count(prefix),
    }
  }

  override async write(command: Command, deadlineMs: number): Promise<Outcome> {
    if (command.kind !== 'write') return this.#store.write(command, deadlineMs)
    const { operations, shown } = await this.#converted(command.operations, deadlineMs)
    const outcome = await this.#store.write({ ...command, operations }, deadlineMs)
    if (outcome.kind !== 'done') return outcome
    for (const [at, encoded] of shown) {
      const revision = outcome.revisions[at]
      if (revision === undefined) continue
      this.#cached.add({ uid: encoded.uid, revision }, withRevision(encoded, revision))
    }
    return outcome
  }

  /** A field index covers the objects as stored, so it cannot be used for this version. */
  override watch(
    prefix: KeyPrefix,
    after: Revision,
    interest: WatchInterest | null = null,
    read: ObjectsRead = objectsOf,
  ): WatchCursor {
    const cursor = this.#store.watch(prefix, after, interest?.kind === 'key' ? interest : null)
    const reported = (
      events: readonly StoreEvent[],
    ): readonly StoreEvent[] | Promise<readonly StoreEvent[]> => {
      const shown = events.map((event) => this.#event(event))
      const waiting = shown.flatMap(read).filter((stored) => !this.isReadable(stored))
      return waiting.length === 0 ? shown : this.#convertEvents(waiting).then(() => shown)
    }
    return {
      get revision() {
        return cursor.revision
      },
      next: (limit) => {
        const events = cursor.next(limit)
        return 'length' in events ? reported(events) : events.then(reported)
      },
      onMore: (wake) => cursor.onMore(wake),
      close: () => cursor.close(),
    }
  }

  #found(stored: StoredObject | null): StoredObject | null {
    if (stored === null) return null
    const object = new WebhookObject(stored, this.#version, null)
    const bytes = object.isReadable ? null : this.#cached.cached(stored)
    return bytes === null ? object : new WebhookObject(stored, this.#version, bytes)
  }

  #slice({ objects, more }: ReturnType<View['list']>): ReturnType<View['list']> {
    return { objects: objects.map((stored) => new WebhookObject(stored, this.#version, null)), more }
  }

  #event(event: StoreEvent): StoreEvent {
    const known = this.#events.get(event)
    if (known !== undefined) return known
    const { previous } = event
    const before = this.#found(previous)
    const object = new WebhookObject(event.object, this.#version, null)
    // A deletion changes nothing but the resourceVersion.
    if (event.kind === 'deleted' && before !== null && !object.isReadable && this.isReadable(before))
      object.accept(atRevision(before, event.revision))
    const shown = { ...event, object, previous: before }
    this.#events.set(event, shown)
    return shown
  }

  /** Other watches have the same events, so the objects become readable in place. */
  async #convertEvents(waiting: readonly StoredObject[]): Promise<void> {
    const found = await this.#cached.bytesOf(waiting.map(rawOf), Number.POSITIVE_INFINITY)
    for (const stored of waiting) {
      const bytes = found.get(this.#cached.keyOf(stored))
      if (bytes !== undefined && stored instanceof WebhookObject) stored.accept(bytes)
    }
  }

  /**
   * Returns the operations in the storage version, and the converted objects in this version, by
   * the index of their operation.
   */
  async #converted(operations: readonly Operation[], deadlineMs: number): Promise<Converted> {
    const shown = new Map<number, EncodedObject>()
    if (this.#version.requested.apiVersion === this.#version.stored.apiVersion) return { operations, shown }
    const converted: Operation[] = []
    for (const [at, operation] of operations.entries()) {
      // A command may carry operations on objects of other kinds.
      if (operation.kind !== 'put' || !operation.key.startsWith(this.#place)) converted.push(operation)
      else {
        const put = await this.#convertedPut(operation, deadlineMs)
        shown.set(at, put.shown)
        converted.push({ ...operation, object: put.stored })
      }
    }
    return { operations: converted, shown }
  }

  async #convertedPut(
    { object }: Put,
    deadlineMs: number,
  ): Promise<{ readonly stored: EncodedObject; readonly shown: EncodedObject }> {
    const { converter } = this.#options
    const { conversion, requested, stored } = this.#version
    const { target, toRequested } = this.#webhook
    const sent = parseStored(object)
    const [inStorage = sent] = await converter.convert(target, [sent], stored.apiVersion, deadlineMs)
    const kept = { ...(conversion?.toStored(inStorage) ?? inStorage), ...stored }
    const read = conversion?.fromStored(kept) ?? kept
    const [back = sent] = await converter.convert(target, [read], requested.apiVersion, deadlineMs)
    return { stored: encode(kept), shown: encode({ ...toRequested(back), ...requested }) }
  }
}

type Converted = {
  readonly operations: readonly Operation[]
  readonly shown: ReadonlyMap<number, EncodedObject>
}

function objectsOf({ object, previous }: StoreEvent): readonly StoredObject[] {
  return previous === null ? [object] : [object, previous]
}

function rawOf(stored: StoredObject): StoredObject {
  return stored instanceof WebhookObject ? stored.raw : stored
}

/** A stored object as one version shows it. A webhook converts it if it is stored in another. */
class WebhookObject implements StoredObject {
  /** The object as stored. */
  readonly raw: StoredObject
  readonly #version: ShownVersion
  #bytes: Uint8Array | null
  #isOwn: boolean | null = null

  /** @param bytes null: it has to be converted, unless it is stored in this version */
  constructor(raw: StoredObject, version: ShownVersion, bytes: Uint8Array | null) {
    this.raw = raw
    this.#version = version
    this.#bytes = bytes
  }

  get isReadable(): boolean {
    if (this.#bytes !== null) return true
    this.#isOwn ??= hasHead(this.raw, this.#version.head)
    return this.#isOwn
  }

  accept(bytes: Uint8Array): void {
    this.#bytes ??= bytes
  }

  get key(): Key {
    return this.raw.key
  }

  get revision(): Revision {
    return this.raw.revision
  }

  get uid(): string {
    return this.raw.uid
  }

  /** As stored: a webhook may show others, but selectors use these. */
  get labels(): StoredObject['labels'] {
    return this.raw.labels
  }

  get terminating(): boolean {
    return this.raw.terminating
  }

  get itemOffset(): number {
    return this.#version.head.byteLength
  }

  /** Until the object is readable, the length of the stored one, as an estimate. */
  get byteLength(): number {
    return this.#bytes?.byteLength ?? this.raw.byteLength
  }

  copyTo(target: Uint8Array, to: number, from: number): number {
    const { bytes } = this
    const length = copied(bytes.subarray(from), target, to)
    // Bytes that do not fit are kept for the next call, which would compose them again.
    if (this.#isOwn === true) this.#bytes = to + length > target.byteLength ? bytes : null
    return length
  }

  get beginning(): Uint8Array {
    return this.bytes
  }

  get bytes(): Uint8Array {
    if (this.#bytes !== null) return this.#bytes
    if (!this.isReadable) throw internal('an object is read before its conversion webhook was called')
    return asRequested(this.raw, this.#version)
  }
}
