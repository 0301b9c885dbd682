import { assert } from '../../base/assert.ts'
import type { Entry, HardState, LogIndex, SnapshotMeta, Term } from '../core/types.ts'
import type { LogWrite } from '../ports.ts'
import { checksum } from './checksum.ts'
import { encodeConfiguration } from './configuration-codec.ts'
import {
  countSparseSectors,
  entryHeaderBytes,
  groupBytes,
  groupBytesMax,
  groupHeaderBytes,
  groupMagic,
  mark,
  markBytes,
  paddingByte,
  putU64,
  recordHeaderBytes,
  recordKind,
  sectorBytes,
  sectorsUp,
} from './layout.ts'
import type { RecordKind } from './layout.ts'

/** The place of an entry's record within its group, and the checksum that it continues. */
export type PlacedEntry = {
  readonly index: LogIndex
  readonly offset: number
  readonly length: number
  readonly seed: number
}

export type GroupPosition = {
  readonly logId: Uint8Array
  readonly segment: number
  readonly sequence: number
  /** Checksum of the last record before this group. */
  readonly seed: number
}

const scratchBytesKept = 4 * 1024 * 1024

/** Encodes one group into a buffer that is reused for the next. */
export class GroupEncoder {
  #bytes = new Uint8Array(64 * 1024)
  #view = new DataView(this.#bytes.buffer)
  #at = 0
  #records = 0
  #chain = 0
  #position: GroupPosition | null = null
  #placed: PlacedEntry[] = []

  begin(position: GroupPosition): void {
    if (this.#bytes.length > scratchBytesKept) this.#replaceBuffer(scratchBytesKept)
    this.#position = position
    this.#chain = position.seed
    this.#at = groupHeaderBytes
    this.#records = 0
    this.#placed = []
  }

  write(write: LogWrite): void {
    if (write.snapshot !== null) this.meta('snapshot', write.snapshot)
    for (const entry of write.entries) this.entry(entry)
    if (write.hardState !== null) this.hardState(write.hardState)
  }

  entry(entry: Entry): void {
    const data =
      entry.kind === 'command'
        ? entry.data
        : entry.kind === 'configuration'
          ? encodeConfiguration(entry.configuration)
          : null
    const length = entryHeaderBytes + (data === null ? 0 : data.length)
    const offset = this.#at
    const seed = this.#chain
    const body = this.#open(entry.kind, length)
    putU64(this.#view, body, entry.index)
    putU64(this.#view, body + 8, entry.term)
    if (data !== null) this.#bytes.set(data, body + entryHeaderBytes)
    this.#close(offset)
    this.#placed.push({ index: entry.index, offset, length: recordHeaderBytes + length, seed })
  }

  hardState(state: HardState): void {
    const offset = this.#at
    const body = this.#open('hard-state', 24)
    putU64(this.#view, body, state.term)
    putU64(this.#view, body + 8, state.vote ?? 0)
    putU64(this.#view, body + 16, state.commit)
    this.#close(offset)
  }

  meta(kind: 'base' | 'snapshot', meta: SnapshotMeta): void {
    const json = encodeConfiguration(meta.configuration)
    const offset = this.#at
    const body = this.#open(kind, entryHeaderBytes + json.length)
    putU64(this.#view, body, meta.index)
    putU64(this.#view, body + 8, meta.term)
    this.#bytes.set(json, body + entryHeaderBytes)
    this.#close(offset)
  }

  tail(tail: { readonly index: LogIndex; readonly term: Term }): void {
    const offset = this.#at
    const body = this.#open('tail', entryHeaderBytes)
    putU64(this.#view, body, tail.index)
    putU64(this.#view, body + 8, tail.term)
    this.#close(offset)
  }

  seal(next: number): void {
    const offset = this.#at
    const body = this.#open('seal', 4)
    this.#view.setUint32(body, next, true)
    this.#close(offset)
  }

  /**
   * Completes the group.
   *
   * @returns the group; its `bytes` are valid until the next `begin`
   */
  finish(): {
    readonly bytes: Uint8Array
    readonly chain: number
    readonly placed: readonly PlacedEntry[]
  } {
    const position = this.#position
    assert(position !== null, 'a group was begun')
    this.#position = null
    const bodyEnd = this.#at + markBytes
    const end = groupBytes(bodyEnd - groupHeaderBytes)
    this.#ensure(end - this.#at)
    this.#view.setUint32(this.#at, mark, true)
    this.#bytes.fill(paddingByte, bodyEnd, end)
    const bytes = this.#bytes.subarray(0, end)
    const view = this.#view
    view.setUint32(0, groupMagic, true)
    view.setUint32(8, position.seed, true)
    view.setUint32(12, bodyEnd - groupHeaderBytes, true)
    // The first sector contains this header, so it is not sparse.
    view.setUint32(16, countSparseSectors(bytes.subarray(sectorBytes)), true)
    view.setUint32(20, position.segment, true)
    putU64(view, 24, position.sequence)
    bytes.set(position.logId, 32)
    view.setUint32(40, this.#records, true)
    view.setUint32(44, mark, true)
    view.setUint32(4, checksum(bytes.subarray(8, groupHeaderBytes), 0), true)
    return { bytes, chain: this.#chain, placed: this.#placed }
  }

  #open(kind: RecordKind, length: number): number {
    this.#ensure(recordHeaderBytes + length)
    this.#view.setUint32(this.#at + 4, length, true)
    this.#view.setUint32(this.#at + 8, recordKind[kind], true)
    const body = this.#at + recordHeaderBytes
    this.#at = body + length
    return body
  }

  #close(offset: number): void {
    this.#chain = checksum(this.#bytes.subarray(offset + 4, this.#at), this.#chain)
    this.#view.setUint32(offset, this.#chain, true)
    this.#records++
  }

  #ensure(more: number): void {
    const needed = this.#at + more
    if (needed <= this.#bytes.length) return
    assert(needed <= groupBytesMax, 'a group stays below 1 GiB')
    const old = this.#bytes
    this.#replaceBuffer(Math.max(needed, old.length * 2))
    this.#bytes.set(old.subarray(0, this.#at))
  }

  #replaceBuffer(length: number): void {
    this.#bytes = new Uint8Array(sectorsUp(length))
    this.#view = new DataView(this.#bytes.buffer)
  }
}
