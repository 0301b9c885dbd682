import type { BinaryReader, BinaryWriter } from '@bufbuild/protobuf/wire'
import { assert } from '../../base/assert.ts'
import { logIndex } from '../core/types.ts'
import type { Entry, Term } from '../core/types.ts'
import type { PeerMessage } from '../ports.ts'
import { endsOf, readAddress } from './address-codec.ts'
import type { AddressBody } from './address-codec.ts'
import { readEntry, writeEntry } from './log-codec.ts'
import { expectEnd, malformed, openMessage, readEnd, readWhole, skipField, writeWhole } from './wire.ts'

/* Codec of entries for the repair of a damaged log, see `proto/raft.proto`. */

export type EntriesKind = 'entries-wanted' | 'entries-sent'
export type EntriesMessage = Extract<PeerMessage, { readonly kind: EntriesKind }>

/** Limit of the entries in one message. The limit in bytes is reached before it. */
const entriesMax = 65_536

/** Writes everything but the address. */
export function writeEntries(writer: BinaryWriter, message: EntriesMessage): void {
  writeWhole(writer, 2, message.first)
  if (message.kind === 'entries-wanted') return writeWhole(writer, 3, message.last)
  assert(message.entries.length <= entriesMax, 'a message holds a bounded number of entries')
  for (const entry of message.entries) {
    openMessage(writer, 4)
    writeEntry(writer, entry)
    writer.join()
  }
}

/** @throws TransportError `malformed` */
export function readEntries(reader: BinaryReader, kind: EntriesKind, end: number): EntriesMessage {
  const ends: AddressBody = { from: null, to: null, term: 0 }
  const entries: Entry[] = []
  let [first, last] = [0, 0]
  while (reader.pos < end) {
    const head = reader.uint32()
    const type = head & 7
    const field = head >>> 3
    if (field === 1) readAddress(reader, readEnd(reader, type, end), ends)
    else if (field === 2) first = readWhole(reader, type)
    else if (field === 3) last = readWhole(reader, type)
    else if (field === 4) {
      if (entries.length >= entriesMax) throw malformed('too many entries in one message')
      const entry = readEntry(reader, readEnd(reader, type, end))
      if (entry.index !== first + entries.length) throw malformed('entries are not consecutive')
      entries.push(entry)
    } else skipField(reader, field, type)
  }
  expectEnd(reader, end)
  const { from, to } = endsOf(ends)
  if (kind === 'entries-sent') return { kind, from, to, first: logIndex(first), entries }
  if (first < 1 || last < first)
    throw malformed('the range of requested entries is empty, or begins before 1')
  return { kind, from, to, first: logIndex(first), last: logIndex(last) }
}

/** Checks that entries are consecutive, and that terms do not decrease or exceed the sender's. */
export function checkEntries(
  entries: readonly Entry[],
  previousIndex: number,
  previousTerm: number,
  sent: Term,
): void {
  let index = previousIndex
  let lastTerm = previousTerm
  for (const entry of entries) {
    if (entry.index !== index + 1) throw malformed('entries are not consecutive')
    if (entry.term < lastTerm) throw malformed('terms of entries decrease')
    index = entry.index
    lastTerm = entry.term
  }
  if (lastTerm > sent) throw malformed('an entry is of a later term than its sender')
}
