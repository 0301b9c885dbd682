import type { ApiError } from '../api-error.ts'
import type { ObjectSchema } from '../schema/schema.ts'
import { statusSchema } from '../schema/shared.ts'
import { statusOf } from '../status.ts'
import type { WatchEventType } from '../watch-event.ts'
import { encodeProtobuf } from './protobuf-envelope.ts'
import type { TypeMeta } from './protobuf-envelope.ts'
import { BackwardWriter } from './protobuf-writer.ts'

/**
 * One event of a watch in protobuf: four bytes of length, big-endian, and a `WatchEvent` without an envelope, in which
 * the object lies in its own.
 *
 * @param body the object in its envelope
 * @source spec 4.7, 6.1; apimachinery `pkg/util/framer`: at most 2^32 - 1 bytes
 */
export function protobufWatchFrame(type: WatchEventType, body: Uint8Array): Uint8Array<ArrayBuffer> {
  const writer = new BackwardWriter()
  writer.raw(body)
  writer.nested(1, 0)
  writer.nested(2, 0)
  const before = writer.length
  writer.text(type)
  writer.nested(1, before)
  const length = Buffer.allocUnsafe(4)
  length.writeUInt32BE(writer.length)
  writer.raw(length)
  return writer.finish()
}

/**
 * Says that everything up to `revision` was sent.
 *
 * @param schema of the kind, or of what its objects are shown as
 * @param annotation key to set to `true`, or null
 */
export function protobufBookmarkFrame(
  schema: ObjectSchema,
  of: TypeMeta & { readonly revision: number | bigint; readonly annotation?: string | null },
): Uint8Array<ArrayBuffer> {
  const { apiVersion, kind, revision, annotation = null } = of
  const marked = annotation === null ? {} : { annotations: { [annotation]: 'true' } }
  const metadata = { resourceVersion: String(revision), ...marked }
  return protobufWatchFrame('BOOKMARK', encodeProtobuf(schema, { apiVersion, kind, metadata }))
}

/** Ends a watch with its reason. */
export function protobufErrorFrame(error: ApiError): Uint8Array<ArrayBuffer> {
  return protobufWatchFrame('ERROR', encodeProtobuf(statusSchema, statusOf(error)))
}
