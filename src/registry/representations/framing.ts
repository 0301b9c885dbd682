import type { ApiError } from '../../api/errors/api-error.ts'
import { jsonText } from '../../api/codec/json-text.ts'
import { yamlText } from '../../api/codec/yaml-writer.ts'
import { encodeProtobuf } from '../../api/codec/protobuf-envelope.ts'
import { protobufWatchFrame } from '../../api/codec/protobuf-watch.ts'
import type { JsonObject } from '../../api/json.ts'
import { statusSchema } from '../../api/schema/shared.ts'
import type { ObjectSchema } from '../../api/schema/schema.ts'
import { statusOf } from '../../api/errors/status.ts'
import {
  WATCH_EVENT_PREFIXES,
  WATCH_EVENT_SUFFIX,
  bookmarkEvent,
  bookmarkMetadata,
  errorEvent,
} from '../../api/watch-event.ts'
import type { WatchEventType } from '../../api/watch-event.ts'
import type { StoreEvent, StoredObject } from '../../store/object-store.ts'
import { parseBytes } from '../kinds/encode.ts'
import { bytesFor } from './event-frames.ts'
import type { EventFrames, EventType } from './event-frames.ts'
import type { Converted, Form } from './representation.ts'

/** Encodes the events of one watch. */
export interface Framing {
  /** Whether objects must be parsed for this encoding. */
  readonly parsesObjects: boolean
  frame(event: StoreEvent, type: EventType): Uint8Array
  /** Returns an object that existed before the watch began, as consecutive parts. */
  initial(stored: StoredObject): readonly Uint8Array[]
  /** @param annotation key to set to `true`, or null */
  bookmark(revision: number, annotation: string | null): Uint8Array
  /** Returns the final ERROR event. */
  error(error: ApiError): Uint8Array
}

/** Encodes events with objects as stored. */
export function objectFraming(frames: EventFrames, { type }: Pick<Form, 'type'>): Framing {
  return {
    parsesObjects: false,
    frame: (event, kind) => frames.frame(event, kind),
    initial: (stored) => frames.initial(stored),
    bookmark: (revision, annotation) => Buffer.from(bookmarkEvent(type, revision, annotation)),
    error: (error) => Buffer.from(errorEvent(error)),
  }
}

/** Converts each event once for all watches that share the form. */
export function convertedFraming(frames: EventFrames, form: Form, { encoding }: Converted): Framing {
  const { schema, shown, type } = form
  const formKey = `${encoding} ${type.kind} ${type.apiVersion}`
  const framed = (kind: WatchEventType, bytes: Uint8Array): Uint8Array =>
    eventIn(encoding, kind, schema, shown(parseBytes(bytes)))
  return {
    parsesObjects: true,
    frame: (event, kind) =>
      frames.converted(event, `${kind} ${formKey}`, () => framed(kind, bytesFor(event, kind))),
    initial: (stored) => [framed('ADDED', stored.bytes)],
    bookmark: (revision, annotation) =>
      eventIn(encoding, 'BOOKMARK', schema, { ...type, metadata: bookmarkMetadata(revision, annotation) }),
    error: (error) => errorIn(encoding, error),
  }
}

export function errorIn(encoding: Converted['encoding'], error: ApiError): Uint8Array {
  return eventIn(encoding, 'ERROR', statusSchema, statusOf(error))
}

/**
 * Returns one event: a line of JSON, a document of YAML, or a message of protobuf after its length.
 *
 * @param schema of the object
 */
function eventIn(
  encoding: Converted['encoding'],
  type: WatchEventType,
  schema: ObjectSchema,
  object: JsonObject,
): Uint8Array {
  switch (encoding) {
    case 'json':
      return Buffer.from(`${WATCH_EVENT_PREFIXES[type]}${jsonText(object)}${WATCH_EVENT_SUFFIX}`)
    case 'yaml':
      return yamlEvent(type, object)
    case 'protobuf':
      return protobufWatchFrame(type, encodeProtobuf(schema, object))
  }
}

/** @source apimachinery `pkg/runtime/serializer/json`: each document begins with the separator */
export function yamlEvent(type: WatchEventType, object: JsonObject): Uint8Array {
  return Buffer.from(`---\n${yamlText({ object, type })}`)
}
