import { Buffer } from 'node:buffer'
import type { WatchEventType } from '../watch-event.ts'
import { BackwardWriter } from './protobuf-writer.ts'

/**
 * Frames one watch event in protobuf: four bytes of length, big-endian, and a `WatchEvent` without
 * an envelope that contains the object in its own envelope.
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
