import { copied } from '../../../base/copied.ts'
import { encodeObject } from '../../api/codec/object-json.ts'
import type { Command, EncodedObject, Operation, Outcome } from '../../store/command.ts'
import { prefixOf } from '../../store/key.ts'
import type { Key, KeyPrefix } from '../../store/key.ts'
import { ForwardingStore } from './forwarding-store.ts'
import type {
  ObjectStore,
  PastView,
  StoredObject,
  StoreEvent,
  View,
  WatchCursor,
  WatchInterest,
} from '../../store/object-store.ts'
import { revision as revisionOf } from '../../store/revision.ts'
import type { Revision } from '../../store/revision.ts'
import { apiVersionOf, placeOf, storedTypeOf } from './definition.ts'
import type { ResourceDefinition, StoredVersion } from './definition.ts'
import { encode, parseStored, withRevision } from './encode.ts'

/**
 * A store as seen by a version that may differ from the storage version: reads convert to this
 * version, writes convert to the storage version. The verbs therefore handle one version only.
 *
 * @param version of `definition`
 * @source spec 9.5 item 2
 */
export class VersionedStore extends ForwardingStore {
  readonly #store: ObjectStore
  readonly #version: ShownVersion
  readonly #place: KeyPrefix
  /**
   * Converts each event once, whatever the number of watches of this version; an entry lives as
   * long as the store keeps the event.
   */
  readonly #events = new WeakMap<StoreEvent, StoreEvent>()

  constructor(store: ObjectStore, definition: ResourceDefinition, version: StoredVersion) {
    super(store)
    this.#store = store
    this.#place = prefixOf({ namespace: null, ...placeOf(definition) })
    this.#version = shownVersion(definition, version)
  }

  override view(): View {
    const view = this.#store.view()
    return {
      revision: view.revision,
      get: (key) => this.#read(view.get(key)),
      list: (prefix, options) => this.#slice(view.list(prefix, options)),
      count: (prefix) => view.count(prefix),
    }
  }

  override viewAt(revision: Revision): PastView {
    const view = this.#store.viewAt(revision)
    return {
      revision: view.revision,
      get: async (key) => this.#read(await view.get(key)),
      list: async (prefix, options) => this.#slice(await view.list(prefix, options)),
      count: (prefix) => view.count(prefix),
    }
  }

  override write(command: Command, deadlineMs: number): Promise<Outcome> {
    if (command.kind !== 'write') return this.#store.write(command, deadlineMs)
    const operations = command.operations.map((operation) => this.#written(operation))
    return this.#store.write({ ...command, operations }, deadlineMs)
  }

  /** A field index covers the objects as stored, so it cannot be used for this version. */
  override watch(prefix: KeyPrefix, after: Revision, interest?: WatchInterest | null): WatchCursor {
    const cursor = this.#store.watch(prefix, after, interest?.kind === 'key' ? interest : null)
    const reported = (events: readonly StoreEvent[]): readonly StoreEvent[] =>
      events.map((event) => this.#event(event))
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

  #read(stored: StoredObject | null): StoredObject | null {
    return stored === null ? null : new ConvertedObject(stored, this.#version, 'recomputed')
  }

  #slice({ objects, more }: ReturnType<View['list']>): ReturnType<View['list']> {
    return {
      objects: objects.map((stored) => new ConvertedObject(stored, this.#version, 'recomputed')),
      more,
    }
  }

  #event(event: StoreEvent): StoreEvent {
    let reported = this.#events.get(event)
    if (reported === undefined) {
      const { previous } = event
      reported = {
        ...event,
        object: new ConvertedObject(event.object, this.#version, 'kept'),
        previous: previous === null ? null : new ConvertedObject(previous, this.#version, 'kept'),
      }
      this.#events.set(event, reported)
    }
    return reported
  }

  #written(operation: Operation): Operation {
    // A command may carry operations on objects of other kinds.
    if (operation.kind !== 'put' || !operation.key.startsWith(this.#place)) return operation
    return { ...operation, object: asStored(operation.object, this.#version) }
  }
}

type Type = { readonly kind: string; readonly apiVersion: string }

/** A version in which objects of a kind are shown. */
export type ShownVersion = Pick<StoredVersion, 'conversion'> & {
  readonly requested: Type
  /** The first bytes of objects of the requested version. */
  readonly head: Buffer
  readonly stored: Type
  /**
   * Objects that are equal in both versions, or differ only in apiVersion and kind. An object is
   * parsed once to find out, not by every list; an entry lives as long as the store keeps it.
   */
  readonly known: WeakMap<StoredObject, 'as-is' | 'other-head'>
}

/** @param version of `definition` */
export function shownVersion(definition: ResourceDefinition, version: StoredVersion): ShownVersion {
  const { kind } = definition
  const requested = { kind, apiVersion: apiVersionOf(definition) }
  return {
    ...(version.conversion === undefined ? {} : { conversion: version.conversion }),
    ...{ requested, head: headOf(requested) },
    stored: { kind, apiVersion: apiVersionOf(storedTypeOf(definition)) },
    known: new WeakMap(),
  }
}

/**
 * A stored object in another version. Its bytes are converted on demand, so a list of a collection
 * does not hold them all.
 */
class ConvertedObject implements StoredObject {
  readonly #stored: StoredObject
  readonly #version: ShownVersion
  readonly #keeping: 'kept' | 'recomputed'
  #bytes: Uint8Array | null = null

  constructor(stored: StoredObject, version: ShownVersion, keeping: 'kept' | 'recomputed') {
    this.#stored = stored
    this.#version = version
    this.#keeping = keeping
  }

  get origin(): StoredObject {
    return this.#stored
  }

  get key(): Key {
    return this.#stored.key
  }

  get revision(): Revision {
    return this.#stored.revision
  }

  get uid(): string {
    return this.#stored.uid
  }

  get labels(): StoredObject['labels'] {
    return this.#stored.labels
  }

  get terminating(): boolean {
    return this.#stored.terminating
  }

  get itemOffset(): number {
    return this.#version.head.byteLength
  }

  get byteLength(): number {
    return this.bytes.byteLength
  }

  copyTo(target: Uint8Array, to: number, from: number): number {
    const { bytes } = this
    const length = copied(bytes.subarray(from), target, to)
    // Bytes that do not fit are kept for the next call, which would convert the object again.
    if (this.#keeping === 'recomputed') this.#bytes = to + length > target.byteLength ? bytes : null
    return length
  }

  get beginning(): Uint8Array {
    return this.bytes
  }

  get bytes(): Uint8Array {
    if (this.#bytes !== null) return this.#bytes
    const bytes = asRequested(this.#stored, this.#version)
    if (this.#keeping === 'kept') this.#bytes = bytes
    return bytes
  }
}

/** Returns the bytes of a stored object in a version, without a webhook. */
export function asRequested(
  stored: StoredObject,
  { conversion, requested, head, known }: ShownVersion,
): Uint8Array {
  const same = known.get(stored)
  if (same === 'as-is') return stored.bytes
  // Only apiVersion and kind differ: the object need not be parsed.
  if (conversion === undefined || same === 'other-head') return withHead(head, stored)
  const object = parseStored(stored)
  const converted = conversion.fromStored(object)
  if (converted === object) {
    const isAsked = object.apiVersion === requested.apiVersion && object.kind === requested.kind
    known.set(stored, isAsked ? 'as-is' : 'other-head')
    return isAsked ? stored.bytes : withHead(head, stored)
  }
  const version = revisionOf(Number(object.metadata.resourceVersion))
  return withRevision(encode({ ...converted, ...requested }), version)
}

function asStored(object: EncodedObject, { conversion, requested, stored }: ShownVersion): EncodedObject {
  if (requested.apiVersion === stored.apiVersion) return object
  if (conversion === undefined) {
    const bytes = withHead(headOf(stored), object)
    const longer = bytes.byteLength - object.bytes.byteLength
    return {
      ...object,
      ...{ bytes, itemOffset: object.itemOffset + longer, revisionOffset: object.revisionOffset + longer },
    }
  }
  const converted = { ...conversion.toStored(parseStored(object)), ...stored }
  const { text, revisionOffset, itemOffset } = encodeObject(converted)
  return { ...object, bytes: Buffer.from(text), revisionOffset, itemOffset }
}

function withHead(head: Buffer, of: { readonly bytes: Uint8Array; readonly itemOffset: number }): Uint8Array {
  return Buffer.concat([head, of.bytes.subarray(of.itemOffset)])
}

/** Returns the first bytes of a stored object; see `encodeObject`. */
export function headOf({ kind, apiVersion }: Type): Buffer {
  return Buffer.from(`{"kind":${JSON.stringify(kind)},"apiVersion":${JSON.stringify(apiVersion)},`)
}

/** Whether a stored object begins with these bytes, without composing all of it. */
export function hasHead(stored: StoredObject, head: Buffer): boolean {
  if (stored.itemOffset !== head.byteLength) return false
  const { buffer, byteOffset } = stored.beginning
  return head.equals(Buffer.from(buffer, byteOffset, head.byteLength))
}
