import { logIndex, nodeId, term } from '../core/types.ts'
import type { Entry, HardState, LogIndex, SnapshotMeta, Term } from '../core/types.ts'
import { checksum } from './checksum.ts'
import { decodeConfiguration } from './configuration-codec.ts'
import {
  entryHeaderBytes,
  getU64,
  groupBytes,
  groupBytesMax,
  groupHeaderBytes,
  groupMagic,
  logIdBytes,
  mark,
  markBytes,
  recordHeaderBytes,
  recordKind,
} from './layout.ts'
import type { RecordKind } from './layout.ts'

export type GroupHeader = {
  readonly seed: number
  readonly bodyBytes: number
  readonly sparseSectors: number
  readonly segment: number
  readonly sequence: number
  readonly logId: Uint8Array
  readonly records: number
}

export type LogRecord =
  | { readonly kind: 'entry'; readonly entry: Entry }
  | { readonly kind: 'hard-state'; readonly hardState: HardState }
  | { readonly kind: 'base' | 'snapshot'; readonly meta: SnapshotMeta }
  | { readonly kind: 'tail'; readonly index: LogIndex; readonly term: Term }
  | { readonly kind: 'seal'; readonly next: number }

/** A record and its place, relative to the bytes that it was read from. */
export type PlacedRecord = {
  readonly record: LogRecord
  readonly offset: number
  readonly length: number
  readonly seed: number
  /** Checksum of this record: the seed of the next. */
  readonly chain: number
}

/** @returns null when there is no intact header at `at` */
export function decodeGroupHeader(bytes: Uint8Array, at: number): GroupHeader | null {
  if (at + groupHeaderBytes > bytes.length) return null
  const view = viewOf(bytes)
  if (view.getUint32(at, true) !== groupMagic) return null
  const own = checksum(bytes.subarray(at + 8, at + groupHeaderBytes), 0)
  if (view.getUint32(at + 4, true) !== own || view.getUint32(at + 44, true) !== mark) return null
  const bodyBytes = view.getUint32(at + 12, true)
  const sequence = getU64(view, at + 24)
  if (bodyBytes < markBytes || groupBytes(bodyBytes) > groupBytesMax || sequence === null) return null
  return {
    seed: view.getUint32(at + 8, true),
    bodyBytes,
    sparseSectors: view.getUint32(at + 16, true),
    segment: view.getUint32(at + 20, true),
    sequence,
    logId: bytes.slice(at + 32, at + 32 + logIdBytes),
    records: view.getUint32(at + 40, true),
  }
}

/**
 * @param bytes header, body and anything after it
 * @returns null when any record, their number or the mark at the end is not as it was written
 */
export function decodeGroup(bytes: Uint8Array, header: GroupHeader): readonly PlacedRecord[] | null {
  const end = groupHeaderBytes + header.bodyBytes - markBytes
  if (end + markBytes > bytes.length) return null
  if (viewOf(bytes).getUint32(end, true) !== mark) return null
  const records: PlacedRecord[] = []
  let at = groupHeaderBytes
  let chain = header.seed
  while (at < end) {
    const placed = decodeRecord(bytes, at, end, chain)
    if (placed === null) return null
    records.push(placed)
    at += placed.length
    chain = placed.chain
  }
  return records.length === header.records ? records : null
}

/**
 * @returns null unless the bytes at `offset` are an intact record that continues `seed` and ends by
 *   `end`
 */
export function decodeRecord(
  bytes: Uint8Array,
  offset: number,
  end: number,
  seed: number,
): PlacedRecord | null {
  if (offset + recordHeaderBytes > end) return null
  const view = viewOf(bytes)
  const length = recordHeaderBytes + view.getUint32(offset + 4, true)
  if (offset + length > end) return null
  const chain = checksum(bytes.subarray(offset + 4, offset + length), seed)
  if (view.getUint32(offset, true) !== chain) return null
  const body = bytes.subarray(offset + recordHeaderBytes, offset + length)
  const record = decodeBody(view.getUint32(offset + 8, true), body)
  return record === null ? null : { record, offset, length, seed, chain }
}

function decodeBody(kind: number, body: Uint8Array): LogRecord | null {
  const view = viewOf(body)
  switch (kind) {
    case recordKind.command:
    case recordKind.empty:
    case recordKind.configuration: {
      const entry = decodeEntry(kindNames[kind], body)
      return entry === null ? null : { kind: 'entry', entry }
    }
    case recordKind['hard-state']: {
      const hardState = body.length === 24 ? decodeHardState(view) : null
      return hardState === null ? null : { kind: 'hard-state', hardState }
    }
    case recordKind.base:
    case recordKind.snapshot: {
      const prefix = decodePrefix(body)
      const configuration = decodeConfiguration(body.subarray(entryHeaderBytes))
      if (prefix === null || configuration === null) return null
      const meta = { index: prefix.index, term: prefix.term, configuration }
      return { kind: kind === recordKind.base ? 'base' : 'snapshot', meta }
    }
    case recordKind.tail: {
      const prefix = body.length === entryHeaderBytes ? decodePrefix(body) : null
      return prefix === null ? null : { kind: 'tail', index: prefix.index, term: prefix.term }
    }
    case recordKind.seal:
      return body.length === 4 ? { kind: 'seal', next: view.getUint32(0, true) } : null
    default:
      return null
  }
}

const kindNames = {
  [recordKind.command]: 'command',
  [recordKind.empty]: 'empty',
  [recordKind.configuration]: 'configuration',
} as const satisfies Record<number, RecordKind>

function decodeEntry(kind: Entry['kind'], body: Uint8Array): Entry | null {
  const prefix = decodePrefix(body)
  if (prefix === null || prefix.index === 0) return null
  // No spread, for speed: this runs for every entry.
  const { index, term: entryTerm } = prefix
  const data = body.subarray(entryHeaderBytes)
  switch (kind) {
    case 'command':
      return { index, term: entryTerm, kind, data }
    case 'empty':
      return data.length === 0 ? { index, term: entryTerm, kind } : null
    case 'configuration': {
      const configuration = decodeConfiguration(data)
      return configuration === null ? null : { index, term: entryTerm, kind, configuration }
    }
  }
}

/** Decodes the index and the term that most records begin with. */
function decodePrefix(body: Uint8Array): { readonly index: LogIndex; readonly term: Term } | null {
  if (body.length < entryHeaderBytes) return null
  const view = viewOf(body)
  const index = getU64(view, 0)
  const prefixTerm = getU64(view, 8)
  if (index === null || prefixTerm === null) return null
  return { index: logIndex(index), term: term(prefixTerm) }
}

function decodeHardState(view: DataView): HardState | null {
  const [stateTerm, vote, commit] = [getU64(view, 0), getU64(view, 8), getU64(view, 16)]
  if (stateTerm === null || vote === null || commit === null) return null
  return { term: term(stateTerm), vote: vote === 0 ? null : nodeId(vote), commit: logIndex(commit) }
}

function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}
