import { WATCH_EVENT_PREFIXES, WATCH_EVENT_SUFFIX } from '../../api/watch-event.ts'
import type { StoreEvent, StoredObject } from '../../store/object-store.ts'
import { atRevision } from '../kinds/encode.ts'

export type EventType = 'ADDED' | 'MODIFIED' | 'DELETED'

/**
 * Events as clients read them: one JSON document and a newline. Each event is encoded at most once
 * per type, for all watches; a frame lives as long as the store keeps the event.
 */
export class EventFrames {
  readonly #frames = new WeakMap<StoreEvent, { [type in EventType]?: Uint8Array }>()
  readonly #converted = new WeakMap<StoreEvent, Map<string, Uint8Array>>()

  frame(event: StoreEvent, type: EventType): Uint8Array {
    let frames = this.#frames.get(event)
    if (frames === undefined) {
      frames = {}
      this.#frames.set(event, frames)
    }
    return (frames[type] ??= frameOf(type, bytesFor(event, type)))
  }

  /**
   * Returns an event in another form, converted on first use. There are at most a few dozen forms:
   * event types times encodings times shapes.
   *
   * @param form identifies the form
   */
  converted(event: StoreEvent, form: string, make: () => Uint8Array): Uint8Array {
    let frames = this.#converted.get(event)
    if (frames === undefined) {
      frames = new Map()
      this.#converted.set(event, frames)
    }
    let frame = frames.get(form)
    if (frame === undefined) {
      frame = make()
      frames.set(form, frame)
    }
    return frame
  }

  /**
   * Returns an object that existed before the watch began, in parts, as it is not shared between
   * watches.
   */
  initial(stored: StoredObject): readonly Uint8Array[] {
    return [heads.ADDED, stored.bytes, tail]
  }
}

/**
 * Returns the bytes to show. An object that left the selection is shown as it last matched, with
 * the revision at which it left.
 */
export function bytesFor(event: StoreEvent, type: EventType): Uint8Array {
  if (type !== 'DELETED' || event.kind === 'deleted' || event.previous === null) return event.object.bytes
  return atRevision(event.previous, event.revision)
}

function frameOf(type: EventType, bytes: Uint8Array): Uint8Array {
  return Buffer.concat([heads[type], bytes, tail])
}

const heads: Readonly<Record<EventType, Uint8Array>> = {
  ADDED: Buffer.from(WATCH_EVENT_PREFIXES.ADDED),
  MODIFIED: Buffer.from(WATCH_EVENT_PREFIXES.MODIFIED),
  DELETED: Buffer.from(WATCH_EVENT_PREFIXES.DELETED),
}
const tail = Buffer.from(WATCH_EVENT_SUFFIX)
