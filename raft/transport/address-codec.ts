import type { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire'
import type { NodeId } from '../core/types.ts'
import {
  expectEnd,
  malformed,
  openMessage,
  readId,
  readWhole,
  skipField,
  writeId,
  writeWhole,
} from './wire.ts'

/** Sender, receiver and usually the term of a message. null: not read yet. */
export type AddressBody = { from: NodeId | null; to: NodeId | null; term: number }

export function writeAddress(
  writer: BinaryWriter,
  message: { readonly from: NodeId; readonly to: NodeId; readonly term?: number },
): void {
  openMessage(writer, 1)
  writeId(writer, 1, message.from)
  writeId(writer, 2, message.to)
  if (message.term !== undefined) writeWhole(writer, 3, message.term)
  writer.join()
}

export function readAddress(reader: BinaryReader, end: number, into: AddressBody): void {
  while (reader.pos < end) {
    const head = reader.uint32()
    if (head >>> 3 === 1) into.from = readId(reader, head & 7)
    else if (head >>> 3 === 2) into.to = readId(reader, head & 7)
    else if (head >>> 3 === 3) into.term = readWhole(reader, head & 7)
    else skipField(reader, head >>> 3, head & 7)
  }
  expectEnd(reader, end)
}

/** @throws TransportError `malformed` */
export function endsOf({ from, to }: AddressBody): { readonly from: NodeId; readonly to: NodeId } {
  if (from === null || to === null) throw malformed('a message needs a sender and a receiver')
  return { from, to }
}
